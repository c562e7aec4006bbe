"""Long statements break as the formatter breaks them, texts between words."""

from allreduce_gen.emitter.layout import lay_out


def test_short_lines_are_left_alone() -> None:
    assert lay_out("x = f(a, b)\n\n# note\n") == "x = f(a, b)\n\n# note\n"


def test_arguments_go_on_one_line_where_they_fit() -> None:
    line = f"        pld.system.wait(signal, offsets=[{'A' * 30}, peer], expected=1)\n"
    assert lay_out(line) == (
        "        pld.system.wait(\n"
        f"            signal, offsets=[{'A' * 30}, peer], expected=1\n"
        "        )\n"
    )


def test_else_one_a_line_with_a_trailing_comma() -> None:
    line = f"x = f({'a' * 40}, [b, {'c' * 20}], d={'e' * 30})\n"
    assert lay_out(line) == (
        f"x = f(\n    {'a' * 40},\n    [b, {'c' * 20}],\n    d={'e' * 30},\n)\n"
    )


def test_commas_in_strings_do_not_split() -> None:
    line = f'    f("-d", default="0,1,2,3", help="{"h" * 60}")\n'
    assert lay_out(line) == (
        '    f(\n        "-d",\n        default="0,1,2,3",\n'
        f'        help="{"h" * 60}",\n    )\n'
    )


def test_a_line_with_no_brackets_is_left_alone() -> None:
    line = f"x = {'word_' * 30}\n"
    assert lay_out(line) == line


def test_a_comment_goes_on_under_its_beginning() -> None:
    text = f"    # {'word, ' * 15}(end)\n    # of it.\n    x = 1\n"
    assert lay_out(text) == (
        f"    # {'word, ' * 12}word,\n    # word, word, (end) of it.\n    x = 1\n"
    )


def test_a_docstring_sentence_takes_the_rest_of_its_paragraph() -> None:
    text = f'"""Title.\n\n{"word " * 18}\nand more.\n\nNext.\n"""\nx = 1\n'
    assert lay_out(text) == (
        f'"""Title.\n\n{"word " * 16}word\nword and more.\n\nNext.\n"""\nx = 1\n'
    )


def test_a_rank_s_steps_stay_whole() -> None:
    step = "+c0 c1 c2 from 3"
    text = f'"""Title.\n\n    rank 0   stage | {" | ".join([step] * 4)} | out\n"""\n'
    assert lay_out(text) == (
        f'"""Title.\n\n    rank 0   stage | {step} | {step} | {step}\n'
        f'             | {step} | out\n"""\n'
    )


def test_a_grouped_expression_is_no_tuple() -> None:
    line = f"x = ({'a' * 50} + {'b' * 50})\n"
    assert lay_out(line) == line


def test_a_chain_has_one_call_a_line() -> None:
    line = f"    x = f({'a' * 60}).to(b.c).share_memory_()\n"
    assert lay_out(line) == (
        f"    x = (\n        f({'a' * 60})\n        .to(b.c)\n"
        "        .share_memory_()\n    )\n"
    )


def test_empty_brackets_are_not_broken() -> None:
    line = f"x = f({'a' * 40}, {'b' * 30}).share_memory_()\n"
    assert lay_out(line) == (f"x = f(\n    {'a' * 40}, {'b' * 30}\n).share_memory_()\n")
