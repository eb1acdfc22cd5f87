"""The prompts that the judge reads."""

from __future__ import annotations

from . import _ffi
from ._encode import c_string


def prompt_template(kind: str) -> str:
    """The prompt template that ships for a kind of judge call.

    To change a prompt, write the template to a file, edit it, and give the file to the
    scorer: ``Scorer(prompts={kind: path}, ...)``. These are the kinds, the methods that
    use them, and the variables that a template must use (or may use, in brackets):

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
    candidates, or of ranked responses. Each text is inserted with its id, between marks
    that no text can contain. Do not change what the template asks the judge to answer,
    since another answer cannot be read. InputError for an unknown kind.

    >>> "{{candidate}}" in prompt_template("score")
    True
    """
    return _ffi.library().prompt_template(c_string(kind, "kind")).decode()
