"""Long statements break as the formatter breaks them."""

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
    line = f"# {'word ' * 30}\n"
    assert lay_out(line) == line


def test_docstrings_are_left_alone() -> None:
    text = f'"""Title.\n\n    f({"word, " * 20})\n"""\nx = 1\n'
    assert lay_out(text) == text


def test_a_grouped_expression_is_no_tuple() -> None:
    line = f"x = ({'a' * 50} + {'b' * 50})\n"
    assert lay_out(line) == line
