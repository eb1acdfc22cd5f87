"""The rows of files, tables and training loops. Everything that reads one reads it here.

A **query row** says what a query is::

    {"query_id"?, "query", "rubrics"?, "ranked"?, "reference"?}

``query_id``
    A string or a number. A query without one is named after its content
    (`query_id_of`), which gives it the same name in every file, in verl, in TRL
    and in a loop of your own.
``query``
    What the policy was asked: a string, or chat messages as trainers have them
    (`parse_prompt`).
``rubrics``
    A list of strings or ``{"text", "weight"?}``, weights above 0, by default 1.
``ranked``
    A list of responses, best first. Each is a string or ``{"text", "quality"?,
    "model"?}``. ``quality`` is a number on any scale, higher is better; the
    simulated judge perceives it, and `rankbuffer compare` measures against it.
    ``ranked_responses`` is another name for the field; a row has one of the two.
``reference``
    A string: the response that method ``prc`` compares with.

A **group row** adds the responses that are scored together. Only the first group
of a query needs the query's other fields::

    {"query_id", ..., "responses": [strings], "eligible"?: [booleans],
     "format_scores"?: [numbers from 0 to 1], "epoch"?, "step"?,
     "update"?, "validate"?, "deadline_ms"?}

A **replay row** adds the rollouts of each epoch::

    {"query_id", "query", "ranked", "epochs": [[responses as in ranked]], ...}

Rows come from JSON, from Python objects or from parquet, so lists may be tuples or
numpy arrays, a list may also be the JSON text of one, and null, NaN and the empty
string mean that a field is not given. Every mistake is an InputError that names the
field, such as ``rubrics[0].weight``. `read` adds the file and the line.

>>> row = parse_query({"query": "Why?", "ranked": ["Because.", {"text": "No.", "quality": 0}]})
>>> row.texts()
['Because.', 'No.']
>>> parse_query({"query": "Why?", "rankd": ["Because."]})
Traceback (most recent call last):
rankbuffer.errors.InputError: rankd: unknown field, known are ...; did you mean 'ranked'?
"""

from .fields import Response as Response
from .files import located as located
from .files import read as read
from .files import read_checked as read_checked
from .files import read_groups as read_groups
from .files import read_replay as read_replay
from .jsonl import read_jsonl as read_jsonl
from .prompt import Prompt as Prompt
from .prompt import parse_prompt as parse_prompt
from .prompt import query_hash as query_hash
from .prompt import query_id_of as query_id_of
from .schema import GroupRow as GroupRow
from .schema import QueryRow as QueryRow
from .schema import ReplayRow as ReplayRow
from .schema import parse_group as parse_group
from .schema import parse_query as parse_query
from .schema import parse_query_id as parse_query_id
from .schema import parse_replay as parse_replay
from .schema import parse_side as parse_side
from .schema import ranked_name as ranked_name
