import { describe, expect, test } from 'vitest'
import { firstRedelegations, isUsable, type NewTrust, redelegated, type Trust } from './trust.ts'

const SOON = new Date('2030-01-01T00:00:00Z')
const LATER = new Date('2030-01-02T00:00:00Z')

const parties = { trustorUserId: 'ann', trusteeUserId: 'bob', impersonation: true }
const ASKED: NewTrust = {
  ...parties,
  id: 'new',
  projectId: 'p',
  roleIds: ['member'],
  expiresAt: null,
  remainingUses: null,
  allowRedelegation: true,
  redelegationCount: undefined,
}
const BY: Trust = {
  ...parties,
  id: 'by',
  projectId: 'p',
  roleIds: ['member', 'reader'],
  expiresAt: SOON,
  remainingUses: null,
  redelegatedTrustId: null,
  redelegationCount: 2,
  createdAt: SOON,
}

describe('a trust from the trustor', () => {
  test.each([
    [{}, 3],
    [{ redelegationCount: 2 }, 2],
    [{ redelegationCount: 0 }, 0],
    [{ allowRedelegation: false, redelegationCount: 2 }, 0],
    [{ redelegationCount: 0, remainingUses: 1 }, 0],
    [{ allowRedelegation: false, remainingUses: 1 }, 0],
  ])('asked for with %j can be given on %i times', (change, count) => {
    expect(firstRedelegations({ ...ASKED, ...change })).toBe(count)
  })

  test.each([
    [{ redelegationCount: 4 }, 'forbidden'],
    [{ remainingUses: 1 }, 'invalid'],
  ])('is refused with %j', (change, kind) => {
    const asked = { ...ASKED, ...change }

    expect(() => firstRedelegations(asked)).toThrow(expect.objectContaining({ kind }) as Error)
  })
})

describe('a redelegated trust', () => {
  test.each([
    [{}, { expiresAt: SOON, redelegationCount: 1 }],
    [{ redelegationCount: 1 }, { expiresAt: SOON, redelegationCount: 1 }],
    [{ redelegationCount: 0 }, { expiresAt: SOON, redelegationCount: 0 }],
    [{ allowRedelegation: false }, { expiresAt: SOON, redelegationCount: 0 }],
    [{ expiresAt: SOON }, { expiresAt: SOON, redelegationCount: 1 }],
    [{ impersonation: false }, { expiresAt: SOON, redelegationCount: 1 }],
  ])('asked for with %j is limited by the other', (change, limits) => {
    expect(redelegated(BY, { ...ASKED, ...change })).toEqual(limits)
  })

  test('by one without an end ends when asked', () => {
    const endless = { ...BY, expiresAt: null }

    expect(redelegated(endless, { ...ASKED, expiresAt: LATER })).toMatchObject({ expiresAt: LATER })
    expect(redelegated(endless, ASKED)).toMatchObject({ expiresAt: null })
  })

  test.each<[string, Partial<NewTrust>, Partial<Trust>]>([
    ['further than it may', {}, { redelegationCount: 0 }],
    ['with counted uses', { remainingUses: 1 }, {}],
    ['for another project', { projectId: 'q' }, {}],
    ['with another role', { roleIds: ['member', 'admin'] }, {}],
    ["in the trustor's name, which the other is not", {}, { impersonation: false }],
    ['for longer', { expiresAt: LATER }, {}],
    ['more often', { redelegationCount: 2 }, {}],
    ['another number of times', { redelegationCount: 1 }, { redelegationCount: 3 }],
  ])('is refused %s', (_name, change, by) => {
    expect(() => redelegated({ ...BY, ...by }, { ...ASKED, ...change })).toThrow(
      expect.objectContaining({ kind: 'forbidden' }) as Error,
    )
  })
})

test.each<[Partial<Trust>, boolean]>([
  [{}, true],
  [{ expiresAt: null }, true],
  [{ expiresAt: LATER }, false],
  [{ remainingUses: 1 }, true],
  [{ remainingUses: 0 }, false],
])('a trust with %j can be used: %s', (change, usable) => {
  expect(isUsable({ ...BY, expiresAt: new Date('2031-01-01'), ...change }, LATER)).toBe(usable)
})
