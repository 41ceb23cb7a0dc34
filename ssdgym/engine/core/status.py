"""Status codes: why a call of the engine has stopped or, below 0, why it refuses or cannot continue."""

OK, INPUT_ENDED, HORIZON = 0, 1, 2
#: A decision is due outside the engine: the code is this number plus the kind of the decision.
FIRST_DECISION = 3
ERASE_DECISION, PLACE_DECISION, RELOCATE_DECISION, MERGE_DECISION, IDLE_DECISION = 3, 4, 5, 7, 8
ALLOCATE_DECISION, LEVEL_DECISION = 9, 10
#: The placement's `period` function is due. Codes of decisions are below this number.
PERIOD_DUE = 100
#: Too many blocks are lost: the life of the device is over.
END_OF_LIFE = 102
OUT_OF_SPACE, NO_VICTIM, NO_DECISION = -1, -2, -3
#: Reasons against an erase set: a block or a mask is illegal, a pair gains nothing, the pairs may not be
#: erased together, a plane has no room for the moves.
ILLEGAL_BLOCK, ILLEGAL_MASK, NOTHING_TO_GAIN, ILLEGAL_PAIRS, NO_ROOM_TO_MOVE = -4, -5, -6, -7, -8
#: No event is left although requests are outstanding: a fault of the engine.
STUCK = -9
#: The next event or arrival is later than the keys of the event tree can hold.
OUT_OF_TIME = -10
#: The answer to a decision other than ERASE is not allowed.
ILLEGAL_ANSWER = -11
#: A subpage would have been programmed over a valid one, or out of order: a fault of the engine.
OUT_OF_ORDER = -12
#: An allocation rule has chosen a block outside the pool; the answer to LEVEL is a block outside the index.
NOT_FREE, NOT_CLOSED = -13, -14

#: Only within the loops. AGAIN: nothing was carried out or started, call again. NO_WORK: nothing is to do.
AGAIN, NO_WORK = 201, 202
