import { expect, test } from 'vitest'
import { NO_RULES, type PlacementPolicy } from '../../db/placement-policies.ts'
import { appliedPolicy, policyHint } from './applied-policy.ts'

const at = new Date(0)

const policy = (name: string, change: Partial<PlacementPolicy> = {}): PlacementPolicy => ({
  id: name,
  name,
  description: null,
  isSelectable: false,
  isDefault: false,
  projectIds: [],
  flavorIds: [],
  rules: NO_RULES,
  revision: 0,
  createdAt: at,
  updatedAt: at,
  ...change,
})

const ALL = [
  policy('chosen', { isSelectable: true }),
  policy('of-flavor', { flavorIds: ['f'] }),
  policy('of-project', { projectIds: ['p'] }),
  policy('usual', { isDefault: true }),
]

test.each([
  ['chosen', 'hint', { hint: 'chosen', projectId: 'p', flavorId: 'f' }],
  ['of-project', 'project', { hint: undefined, projectId: 'p', flavorId: 'f' }],
  ['of-flavor', 'flavor', { hint: undefined, projectId: 'q', flavorId: 'f' }],
  ['usual', 'default', { hint: undefined, projectId: 'q', flavorId: 'g' }],
  ['of-project', 'project', { hint: 'of-flavor', projectId: 'p', flavorId: 'f' }],
])('%s applies by its %s to %j', (name, boundBy, subject) => {
  expect(appliedPolicy(ALL, subject)).toMatchObject({ name, boundBy })
})

test('no policy applies where none is bound', () => {
  const subject = { hint: 'gone', projectId: 'q', flavorId: 'g' }
  expect(appliedPolicy(ALL.slice(0, 3), subject)).toBeNull()
})

test('a hint may name a policy that users may choose, and no other', () => {
  expect(policyHint(ALL, { policy: ['chosen'] })).toBe('chosen')
  expect(policyHint(ALL, { group: 'x' })).toBeUndefined()
  for (const hint of ['of-project', 'none'])
    expect(() => policyHint(ALL, { policy: hint })).toThrow(
      `Scheduler hint 'policy': there is no placement policy '${hint}' that users may choose. They may choose: chosen.`,
    )
})
