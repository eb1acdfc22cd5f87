"""The prompts that the judge reads."""

from __future__ import annotations

from . import _ffi


def prompt_template(kind: str) -> str:
    """The prompt template that ships for a kind of judge call.

    Write it to a file, change it and give ``Scorer(prompts={kind: path})``. The kinds,
    who uses them, and the variables that a template of theirs must use (those in
    brackets: may use):

    - ``coarse`` (RankBuffer), ``coarse_order`` (``order_only``): ``{{query}} {{rubrics}}
      {{anchors}} {{candidate}} [{{k}} {{last}}]``
    - ``fine`` (RankBuffer, Listwise): ``{{query}} {{rubrics}} {{candidates}} [{{n}}
      {{candidate_ids}}]``
    - ``manager`` (RankBuffer with ``manager``): ``{{query}} {{rubrics}} {{anchors}}
      {{candidates}} {{order}} {{lookahead}} {{keep}} [{{k}} {{n}}]``; ``{{lookahead}}``
      brings its heading along and is nothing where there are no upcoming rollouts
    - ``score`` (Pointwise, Implicit), ``label`` (GenRM): ``{{query}} {{rubrics}}
      {{candidate}}``
    - ``rubric_score`` (Explicit, GDPO): ``{{query}} {{rubric}} {{candidate}}``
    - ``pair`` (SCR, AGR, Pairwise, WinRate, PRC), ``match`` (Arena),
      ``preference`` and ``reasoned`` (PRC): ``{{query}} {{rubrics}} {{candidates}}``
    - ``select`` (Tournament): ``{{query}} {{rubrics}} {{candidates}} {{winners}} [{{n}}
      {{candidate_ids}}]``
    - ``rubrics`` (``Scorer.write_rubrics``): ``{{query}} {{ranked}} [{{n}}]``

    ``{{k}}`` is the number of anchors, ``{{last}}`` one less, ``{{n}}`` the number of
    candidates, or of ranked responses. Texts come with their ids, between marks
    that no text can contain. What must stay is the answer that a template asks
    for: another one cannot be read. InputError for an unknown kind.
    """
    return _ffi.library().prompt_template(_ffi.c_string(kind, "kind")).decode()
