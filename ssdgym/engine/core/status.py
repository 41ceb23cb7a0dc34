"""What a call of the engine comes back with: why it has stopped, or, below 0, why it refuses or gives up."""

OK, INPUT_ENDED, HORIZON = 0, 1, 2
#: From here on: this number plus the kind of the decision that is due outside.
FIRST_DECISION = 3
ERASE_DECISION, PLACE_DECISION, RELOCATE_DECISION, MERGE_DECISION, IDLE_DECISION = 3, 4, 5, 7, 8
ALLOCATE_DECISION, LEVEL_DECISION = 9, 10
#: The function that the placement has for periods is due; kinds of decisions are fewer.
PERIOD_DUE = 100
#: Too many blocks are lost, and the device stops for good.
END_OF_LIFE = 102
OUT_OF_SPACE, NO_VICTIM, NO_DECISION = -1, -2, -3
#: Against an erase set: one of its blocks, a mask, what it gains, how its pairs go together, where their
#: pages would have to go.
ILLEGAL_BLOCK, ILLEGAL_MASK, NOTHING_TO_GAIN, ILLEGAL_PAIRS, NO_ROOM_TO_MOVE = -4, -5, -6, -7, -8
#: Nothing can happen any more although something is outstanding: a fault of the engine.
STUCK = -9
#: The next event or arrival is later than the event tree can count.
OUT_OF_TIME = -10
#: Against the answer to any other decision.
ILLEGAL_ANSWER = -11
#: A subpage would have been programmed over a valid one, or out of order: a fault of the engine.
OUT_OF_ORDER = -12
#: Against the answer of an allocation rule, or to a LEVEL decision: the plane has no such block.
NOT_FREE, NOT_CLOSED = -13, -14

#: For the loops alone: look again, for something has changed; and, there is nothing to be done.
AGAIN, NO_WORK = 201, 202
