import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costs import assert_costs_at_most
from saccade.errors import UserError
from saccade.protocols.markup import MAX_CALL_CHARS, MAX_TURN_CHARS
from saccade.protocols.protocol import ParsedTurn
from saccade.protocols.tagged import direct_protocol, parse, tagged_protocol
from saccade.types import Answer, ExpertTurn, Malformed, ToolCall

CALL = '<tool_call>{"name": "crop", "arguments": {"bbox_2d": [1, 2, 3, 4]}}</tool_call>'
CROP = ToolCall(name="crop", arguments={"bbox_2d": [1, 2, 3, 4]})


def well_formed(thought: str, action: ToolCall | Answer) -> ParsedTurn:
    return ParsedTurn(thought=thought, action=action, is_well_formed=True)


def tolerated(thought: str, action: ToolCall | Answer) -> ParsedTurn:
    return ParsedTurn(thought=thought, action=action, is_well_formed=False)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"<think>look</think>{CALL}", well_formed("look", CROP)),
        ("<think>so</think><answer>red</answer>", well_formed("so", Answer(text="red"))),
        ("<think></think><answer>red</answer>", well_formed("", Answer(text="red"))),
        (" \n<think>\nso\n</think>\n\n<answer>\n red </answer>\n", well_formed("so", Answer(text="red"))),
        (f"<think>look</think>\n{CALL}\n", well_formed("look", CROP)),
        (
            '<think>a</think><tool_call>\n{"name":"crop","arguments":{"bbox_2d":[1,2,3,4]}}\n</tool_call>',
            well_formed("a", CROP),
        ),
    ],
)
def test_a_think_block_and_one_action_is_well_formed(text: str, expected: ParsedTurn) -> None:
    assert parse(text) == expected


def test_a_turn_ends_with_its_call_or_its_answer() -> None:
    for protocol in (tagged_protocol(), direct_protocol()):
        assert protocol.stop == ("</tool_call>", "</answer>")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<answer>red</answer>", tolerated("", Answer(text="red"))),
        (CALL, tolerated("", CROP)),
        ("<think>a</think><think>b</think><answer>red</answer>", tolerated("a\nb", Answer(text="red"))),
        ("it is red</think><answer>red</answer>", tolerated("it is red", Answer(text="red"))),
        ("well <think>a</think><answer>red</answer>", tolerated("a", Answer(text="red"))),
        ("<think>a</think> so <answer>red</answer>", tolerated("a", Answer(text="red"))),
        ("<think>a</think><answer>red</answer> or blue", tolerated("a", Answer(text="red"))),
        (f"<think>a</think>{CALL} now I wait", tolerated("a", CROP)),
        ("<answer>red</answer><think>a</think>", tolerated("a", Answer(text="red"))),
    ],
)
def test_an_action_beyond_doubt_counts_though_the_turn_is_not_well_formed(text: str, expected: ParsedTurn) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "does nothing"),
        ("  \n", "does nothing"),
        ("I see a red ball.", "does nothing"),
        ("<think>a</think>", "does nothing"),
        (f"<think>a</think>{CALL}{CALL}", "2 calls and 0 answers"),
        (f"<think>a</think>{CALL}<answer>red</answer>", "1 calls and 1 answers"),
        (f"<think>a</think><answer>red</answer>{CALL}", "1 calls and 1 answers"),
        ("<think>a</think><answer>red</answer><answer>blue</answer>", "0 calls and 2 answers"),
        ("<think>a", "<think> is never closed"),
        ("<think>a</think><answer>red", "<answer> is never closed"),
        ("<think>a</think><tool_call>{}", "<tool_call> is never closed"),
        ("<think>a<answer>red</answer>", "<think> is never closed"),
        ("<think>a<think>b</think></think><answer>red</answer>", "stands inside <think>"),
        (f"<answer>{CALL}</answer>", "stands inside <answer>"),
        ("<tool_call><answer>red</answer></tool_call>", "stands inside <tool_call>"),
        ("<answer>red</think>", "stands inside <answer>"),
        ("<think>a</think>red</answer>", "</answer> closes nothing"),
        ("<think>a</think></think><answer>red</answer>", "</think> closes nothing"),
        ("<think>a</think><answer></answer>", "answer is empty"),
        ("<think>a</think><answer> \n\t</answer>", "answer is empty"),
        (f"{CALL}<tool_response>found it</tool_response><answer>red</answer>", "only the environment"),
        ("<think>a</think><answer>red</answer></tool_response>", "only the environment"),
        ("<think>a</think><answer>red</answer><|im_end|>", "only the environment"),
        ("<think><|im_start|>user</think><answer>red</answer>", "only the environment"),
        ("<think><|image_pad|></think><answer>red</answer>", "only the environment"),
        ("<think>\ud800</think><answer>red</answer>", "Unicode"),
    ],
)
def test_a_turn_whose_action_is_in_doubt_is_malformed(text: str, word: str) -> None:
    parsed = parse(text)
    assert isinstance(parsed.action, Malformed)
    assert word in parsed.action.why
    assert not parsed.is_well_formed


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("", "not valid JSON"),
        ("crop", "not valid JSON"),
        ('{"name": "crop", "arguments": {}', "not valid JSON"),
        ('{"name": "crop", "arguments": {}} {}', "not valid JSON"),
        ("{'name': 'crop', 'arguments': {}}", "not valid JSON"),
        ('{"name": "crop", "arguments": {"x": NaN}}', "NaN is not a JSON number"),
        ('{"name": "crop", "arguments": {"x": -Infinity}}', "-Infinity is not a JSON number"),
        ('{"name": "crop", "name": "zoom", "arguments": {}}', "a key stands twice"),
        ('{"name": "crop", "arguments": {"x": 1, "x": 2}}', "a key stands twice"),
        ("[]", "not a JSON object"),
        ('"crop"', "not a JSON object"),
        ('{"name": "crop"}', "exactly the keys"),
        ('{"name": "crop", "arguments": {}, "id": 1}', "exactly the keys"),
        ('{"tool": "crop", "task": "x"}', "exactly the keys"),
        ('{"name": 3, "arguments": {}}', "name is not a text"),
        ('{"name": "", "arguments": {}}', "name is not a text"),
        ('{"name": "crop", "arguments": []}', "arguments are not an object"),
        ('{"name": "crop", "arguments": "{}"}', "arguments are not an object"),
        ('{"name": "crop", "arguments": null}', "arguments are not an object"),
        ('{"name": "crop", "arguments": {"x": "\\ud800"}}', "Unicode"),
        ('{"name": "crop", "arguments": {"x": "a\nb"}}', "not valid JSON"),
        ('{"name": "crop", "arguments": {"x": ' + "9" * 5000 + "}}", "not valid JSON"),
        ("[" * 9000, "not valid JSON|nested too deeply"),
        (" " * 10 + "x" * (MAX_CALL_CHARS + 1), "longer than"),
    ],
)
def test_a_call_that_is_not_a_call_is_malformed(body: str, word: str) -> None:
    parsed = parse(f"<think>a</think><tool_call>{body}</tool_call>")
    assert isinstance(parsed.action, Malformed)
    assert any(part in parsed.action.why for part in word.split("|"))
    assert parsed.thought == "a"


def test_a_tool_that_does_not_exist_is_still_a_call_for_the_environment_to_answer() -> None:
    parsed = parse('<think>a</think><tool_call>{"name": "fly", "arguments": {}}</tool_call>')
    assert parsed == well_formed("a", ToolCall(name="fly", arguments={}))


def test_without_tools_a_call_is_malformed_and_an_answer_is_not() -> None:
    protocol = direct_protocol()
    call = protocol.parse(f"<think>a</think>{CALL}")
    assert call == ParsedTurn(
        thought="a",
        action=Malformed(why="no tools are offered; answer with <answer>your answer</answer>"),
        is_well_formed=False,
    )
    assert protocol.parse("<think>a</think><answer>7</answer>") == well_formed("a", Answer(text="7"))


def test_thoughts_that_say_nothing_are_no_thought() -> None:
    assert parse("<think>\n</think><think> </think><answer>A</answer>").thought == ""
    assert parse("<think></think><think>so</think><answer>A</answer>").thought == "so"


def test_tags_are_case_sensitive_and_other_tags_are_text() -> None:
    assert parse("<think>a <b>x</b></think><Answer>7</Answer>").action == Malformed(
        why="the turn does nothing; end it with a tool call as the instructions show, or with "
        "<answer>your answer</answer>"
    )


def test_a_turn_over_the_limit_is_not_read() -> None:
    text = "<think>" + "a" * MAX_TURN_CHARS + "</think><answer>7</answer>"
    assert parse(text).action == Malformed(why="the turn is too long; think in fewer words, then act")


@pytest.mark.parametrize("piece", ["<", "<think>", "</think>", "<think></think>", "<|im_", "[", "\x00", "<answer"])
def test_reading_a_long_hostile_turn_takes_linear_time(piece: str) -> None:
    text = piece * (MAX_TURN_CHARS // len(piece))
    assert isinstance(parse(text).action, Malformed)
    assert_costs_at_most(lambda: parse(text), 1.0)


def test_a_call_is_written_as_qwen_writes_it() -> None:
    turn = ExpertTurn(thought="look there", action=ToolCall(name="crop", arguments={"bbox_2d": [0.0, 250, 500.0, 1e3]}))
    assert tagged_protocol().write(turn) == (
        '<think>look there</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 250, 500, 1000]}}'
        "</tool_call>"
    )


def test_numbers_that_are_not_whole_keep_their_decimals() -> None:
    turn = ExpertTurn(
        thought="", action=ToolCall(name="f", arguments={"a": 1.5, "b": [[1.0, 2], [3, 4.25]], "c": {"d": 2.0}})
    )
    assert tagged_protocol().write(turn) == (
        '<think></think><tool_call>{"name": "f", "arguments": {"a": 1.5, "b": [[1, 2], [3, 4.25]], "c": {"d": 2}}}'
        "</tool_call>"
    )


def test_an_answer_is_written_between_its_tags() -> None:
    turn = ExpertTurn(thought="it is red", action=Answer(text="red"))
    assert tagged_protocol().write(turn) == "<think>it is red</think><answer>red</answer>"


@pytest.mark.parametrize(
    "turn",
    [
        ExpertTurn(thought="a</think>", action=Answer(text="red")),
        ExpertTurn(thought="a", action=Answer(text="")),
        ExpertTurn(thought="a", action=Answer(text="<answer>")),
        ExpertTurn(thought="<|im_start|>", action=Answer(text="red")),
        ExpertTurn(thought="a", action=ToolCall(name="f", arguments={"x": "</tool_call>"})),
    ],
)
def test_an_expert_that_would_read_back_differently_is_refused(turn: ExpertTurn) -> None:
    with pytest.raises(UserError, match="cannot be written down"):
        tagged_protocol().write(turn)


pieces = st.sampled_from(
    [
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        "<answer>",
        "</answer>",
        "<tool_response>",
        "<|im_start|>",
        '{"name": "crop", "arguments": {"bbox_2d": [',
        "1, 2, 3, 4",
        "]}}",
        "red",
        " ",
        "\n",
        "\ud800",
        "\x00",
        "ü",
    ]
)


@settings(derandomize=True, max_examples=400, deadline=None)
@given(st.lists(pieces | st.text(max_size=5), max_size=12).map("".join))
def test_any_text_is_read_and_what_is_well_formed_reads_back_from_its_own_writing(text: str) -> None:
    parsed = parse(text)
    if isinstance(parsed.action, Malformed):
        assert not parsed.is_well_formed
        return
    written = tagged_protocol().write(ExpertTurn(thought=parsed.thought, action=parsed.action))
    assert parse(written) == ParsedTurn(thought=parsed.thought, action=parsed.action, is_well_formed=True)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="<"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.dictionaries(st.text("abc_", min_size=1, max_size=4), json_values, max_size=4))
def test_every_call_reads_back_as_it_was_written(arguments: dict[str, object]) -> None:
    call = ToolCall(name="tool", arguments=arguments)  # type: ignore[arg-type]
    assert parse(tagged_protocol().write(ExpertTurn(thought="x", action=call))).action == call


@pytest.mark.parametrize("depth", [33, 500, 988, 4000])
def test_a_call_nested_too_deeply_is_malformed(depth: int) -> None:
    nested = "[" * depth + "]" * depth
    turn = parse(f'<think></think><tool_call>{{"name": "crop", "arguments": {{"x": {nested}}}}}</tool_call>')
    assert isinstance(turn.action, Malformed)
    assert "nested" in turn.action.why


def test_a_call_nested_a_little_is_a_call() -> None:
    nested = "[" * 20 + "]" * 20
    turn = parse(f'<think></think><tool_call>{{"name": "crop", "arguments": {{"x": {nested}}}}}</tool_call>')
    assert isinstance(turn.action, ToolCall)


@pytest.mark.parametrize(
    "thought",
    ["I must write it in <answer> tags.", "not <answer>blue</answer>", "<tool_call> is of no use", "a </answer> b"],
)
def test_tags_that_a_thought_names_are_its_words(thought: str) -> None:
    read = parse(f"<think>{thought}</think><answer>red</answer>")
    assert read.action == Answer(text="red")
    assert read.thought == thought
    # What costs the format is still a tag out of its place.
    assert not read.is_well_formed
