import { expect, test } from 'vitest'
import { FIRST_FORWARD_STEP, MOVE_PLANS } from './plans.ts'

test.each(Object.entries(MOVE_PLANS))(
  '%s has no way back from the point of no return on',
  (_, { steps }) => {
    const isForwardOnly = steps.map((step) => step !== 'copy' && step.isForwardOnly === true)

    expect(isForwardOnly).toEqual(steps.map((_step, index) => index >= FIRST_FORWARD_STEP))
  },
)
