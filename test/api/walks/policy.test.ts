import { afterAll, beforeAll, expect, test } from 'vitest'
import { POLICY } from '#gateway/app/policy.ts'
import { PUBLIC_POLICY } from '#openapi/projection/operation.ts'
import { type Caller, MAY, makeCallers } from './callers.ts'
import { OURS, UPSTREAM } from './upstream-policy.ts'
import { type WalkWorld, walkWorld } from './walk-world.ts'
import { bodyOf, NOBODY, pathOf, WALKED, type Walked } from './walked.ts'

let world: WalkWorld
let callers: readonly Caller[]

beforeAll(async () => {
  world = await walkWorld()
  callers = await makeCallers(world.admin)
})

afterAll(() => world?.[Symbol.asyncDispose]())

const OTHER = ':other'
/** No other cloud has this service, so there is no upstream rule. */
const OUR_SERVICE = 'federation:'

test('every rule is the default of its service, or differs on purpose', () => {
  const problems: string[] = []
  for (const [rule, who] of Object.entries(POLICY)) {
    const base = rule.endsWith(OTHER) ? rule.slice(0, -OTHER.length) : rule
    const expected = UPSTREAM.get(base)
    if (expected === undefined) {
      if (OURS[rule] === undefined && !rule.startsWith(OUR_SERVICE))
        problems.push(`${rule} is nobody's`)
      continue
    }
    const wanted = base === rule ? (expected.own ?? expected.who) : expected.who
    if (who !== wanted) problems.push(`${rule} is for ${who}, not for ${wanted}`)
  }
  expect(problems).toEqual([])
})

/** A request that changes nothing: it names an unknown object, or the caller's own project, and has no valid body. */
async function statusFor(walked: Walked, caller: Caller): Promise<number> {
  const { method } = walked.operation
  const version = walked.described.turningPoints(walked.operation).at(-1)!
  const path = pathOf(walked, (service, parameter) =>
    (service === 'compute' || service === 'volume') && parameter === 'project_id'
      ? caller.projectId
      : NOBODY,
  )
  const body = method === 'GET' ? undefined : bodyOf(walked, 'nothing of the kind')
  const headers = { 'x-auth-token': caller.token }
  return (await world.admin.call(method, path, body, { version, headers })).status
}

/** Objects of the caller's own project, and the callers that are refused without a project. */
const OF_A_PROJECT = new Map<string, (caller: Caller) => boolean>([
  ['compute showLimits', (caller) => !MAY.admin(caller)],
  ['compute listProxiedSecurityGroups', () => true],
  ['volume showLimits', (caller) => !MAY.admin(caller)],
])

/** Operations whose owner is in the body or the query, not in the path (test/api/identity-credentials.test.ts, identity-trusts.test.ts). */
const BY_BODY: ReadonlySet<string> = new Set([
  'identity createEc2Credential',
  'identity updateCredential',
  'identity listTrusts',
])

/** Undefined where the answer depends on the domain of the object (test/api/identity-policy.test.ts). */
function mayAsk({ service, operation, id }: Walked, caller: Caller): boolean | undefined {
  if (BY_BODY.has(id)) return undefined
  // Not found for anybody, as in Keystone: services delete trusts again until they are told so.
  if (operation.path.includes('{trust_id}')) return true
  const rule = UPSTREAM.get(operation.policy)
  const isOthers = service === 'identity' && operation.path.includes('{')
  const others = rule?.who === 'nobody' ? undefined : rule?.who
  const who = (isOthers ? others : (rule?.own ?? others)) ?? rule?.own ?? POLICY[operation.policy]
  if (who === undefined) throw new Error(`${id} has no rule`)
  const may = MAY[who](caller)
  if (may && isOthers && caller.scope === 'domain') return undefined
  return may && (caller.scope === 'project' || !OF_A_PROJECT.get(id)?.(caller))
}

test('every operation is refused to callers outside its rule, and to no other caller', async () => {
  const problems: string[] = []
  for (const walked of WALKED) {
    if (walked.operation.policy === PUBLIC_POLICY) continue
    for (const caller of callers) {
      const may = mayAsk(walked, caller)
      if (may === undefined) continue
      const status = await statusFor(walked, caller)
      if ((status === 403) === may)
        problems.push(`${walked.id} answers ${status} to ${caller.name}`)
    }
  }
  expect(problems).toEqual([])
}, 600_000)
