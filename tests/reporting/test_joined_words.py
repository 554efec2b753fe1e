"""Words of an example as a line of text: as each script is written."""

import pytest

from headscope.reporting.card_sentences import joined


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("It was n't ( much ) , he said .", "It wasn't (much), he said."),
        ("吾輩 は 猫 で ある 。", "吾輩は猫である。"),
        ("他 说 ， “ 好 ” 。", "他说，“好”。"),
        ("我 用 BERT 模型 ， 2019 年 。", "我用 BERT 模型， 2019 年。"),
        ("ฉัน รัก คุณ", "ฉันรักคุณ"),
        ("나는 학생 이다 .", "나는 학생 이다."),  # Korean has spaces
        ("𠀋 です", "𠀋です"),
        ("", ""),
    ],
)
def test_words_are_written_as_their_script_is(words, line):
    assert joined(words.split()) == line
