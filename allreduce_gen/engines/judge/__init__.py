"""The second judge: explores what a small trace can do, straight from the definition.

It shares no code with the static checks, so that each can be held against the other.
"""

from .explain import explain, simplify
from .judge import judge
from .verdict import Deadlock, Race, Verdict

__all__ = ["Deadlock", "Race", "Verdict", "explain", "judge", "simplify"]
