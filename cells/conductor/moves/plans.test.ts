import { expect, test } from 'vitest'
import { FIRST_FORWARD_LEG, MOVE_PLANS } from './plans.ts'

test.each(Object.entries(MOVE_PLANS))(
  '%s has no way back from the point of no return on',
  (_, { legs }) => {
    const isForwardOnly = legs.map((leg) => leg !== 'copy' && leg.isForwardOnly === true)

    expect(isForwardOnly).toEqual(legs.map((_leg, index) => index >= FIRST_FORWARD_LEG))
  },
)
