"""What an agent and its peers see of stores that are held back."""

import numpy as np
import pytest

from allreduce_gen.engines.simulator.memory import Memory, Write
from allreduce_gen.engines.simulator.store_queue import StoreQueue


@pytest.fixture
def shared(sketch):
    """A window of rank 0, and the two queues of its owner and of a peer."""
    region = sketch(1).ranks[0].region("data")
    memory = Memory({("data", 0): np.zeros(32, np.uint8)})
    return region, memory, *(StoreQueue(memory, holds_back=True) for _ in range(2))


def ones(region, *, atomic=False):
    return Write(
        instance=("data", 0),
        region=region,
        values=np.ones(region.shape, np.float32),
        atomic=atomic,
    )


def test_the_owner_sees_its_store_at_once_and_a_peer_once_it_is_published(shared):
    region, memory, owner, peer = shared
    owner.write(ones(region))
    assert owner.read(("data", 0), region).all()
    assert not peer.read(("data", 0), region).any()
    assert memory.take_changed() == set()
    owner.publish()
    assert peer.read(("data", 0), region).all()
    assert memory.take_changed() == {0}
    assert memory.take_changed() == set()


def test_a_held_atomic_adds_to_what_is_there_when_it_is_published(shared):
    region, _, owner, peer = shared
    owner.write(ones(region, atomic=True))
    peer.write(ones(region))
    peer.publish()
    assert owner.read(("data", 0), region).tolist() == [[2.0] * 8]
    owner.publish()
    assert peer.read(("data", 0), region).tolist() == [[2.0] * 8]


def test_held_stores_elsewhere_do_not_hide_what_peers_publish(shared, sketch):
    region, _, owner, peer = shared
    script = sketch(1).ranks[0]
    owner.write(ones(script.region("data", 0, 2)))
    peer.write(ones(script.region("data", 4, 4)))
    peer.publish()
    seen = owner.read(("data", 0), region)
    assert seen.tolist() == [[1, 1, 0, 0, 1, 1, 1, 1]]
