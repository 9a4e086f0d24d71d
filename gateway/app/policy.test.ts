import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { contractOf } from '#openapi/contract.ts'
import { presentDocuments } from '#openapi/load-document.ts'
import { PUBLIC_POLICY } from '#openapi/projection/operation.ts'
import { isAllowedUpstream } from '#test/api/walks/upstream-check.ts'
import { UPSTREAM } from '#test/api/walks/upstream-policy.ts'
import { enforce, isAllowed, POLICY, policyCheck } from './policy.ts'
import { ANONYMOUS, type Caller } from './request-context.ts'

const DOCUMENT_RULES = new Set(
  presentDocuments()
    .flatMap((name) => contractOf(name).operations)
    .map(({ policy }) => policy)
    .filter((policy) => policy !== PUBLIC_POLICY),
)

const CODE = globSync('gateway/**/*.ts')
  .filter((file) => !/(policy|\.test)\.ts$/.test(file))
  .map((file) => readFileSync(file, 'utf8'))

/** Rules that code names beside those of the documents: literals given to a check inside an operation. */
const CODE_RULES = new Set(
  CODE.flatMap((text) => [
    ...text.matchAll(/'((?:os_compute_api|compute|identity):[\w:-]+)'/g),
  ]).map(([, rule]) => rule ?? ''),
)

test('every rule a document names is in the table', () => {
  expect([...DOCUMENT_RULES].filter((rule) => POLICY[rule] === undefined)).toEqual([])
})

test('every rule the code names is in the table', () => {
  expect([...CODE_RULES].filter((rule) => POLICY[rule] === undefined)).toEqual([])
})

test('every rule of the table is named by a document or by code', () => {
  const isNamed = (rule: string) =>
    DOCUMENT_RULES.has(rule) || CODE.some((text) => text.includes(`'${rule}'`))

  expect(Object.keys(POLICY).filter((rule) => !isNamed(rule))).toEqual([])
})

const project = { projectId: 'p' as Caller['projectId'] }
const CALLERS: Readonly<Record<string, Caller>> = {
  administrator: callerWith(['admin', 'manager', 'member', 'reader'], {
    ...project,
    isAdmin: true,
  }),
  'system administrator': callerWith(['admin', 'manager', 'member', 'reader'], {
    isSystemScoped: true,
    isAdmin: true,
  }),
  member: callerWith(['member', 'reader'], project),
  reader: callerWith(['reader'], project),
  'system reader': callerWith(['reader'], { isSystemScoped: true }),
  'domain administrator': callerWith(['admin', 'manager', 'member', 'reader'], { domainId: 'd' }),
  'domain reader': callerWith(['reader'], { domainId: 'd' }),
  service: callerWith(['service'], project),
  stranger: callerWith([], project),
  unscoped: callerWith([], {}),
}

/** Rules with this ending say which callers may touch other users' objects. */
const OTHER = ':other'

const upstream = Object.keys(POLICY).flatMap((rule) => {
  const isOfOthers = rule.endsWith(OTHER)
  const check = UPSTREAM.get(isOfOthers ? rule.slice(0, -OTHER.length) : rule)?.check
  return check === undefined
    ? []
    : [{ rule, check, target: isOfOthers ? ('foreign' as const) : ('own' as const) }]
})

test.each(upstream)('$rule allows the callers whom $check allows', ({ rule, check, target }) => {
  const allowed = Object.entries(CALLERS).filter(([, caller]) => isAllowed(caller, rule))
  const expected = Object.entries(CALLERS).filter(([, caller]) =>
    isAllowedUpstream(check, caller, target),
  )

  expect(allowed.map(([name]) => name)).toEqual(expected.map(([name]) => name))
})

test.each(Object.keys(POLICY).filter((rule) => rule.startsWith('federation:')))(
  '%s: who may look may not change, and who changes is an administrator',
  (rule) => {
    const allowed = new Set(
      Object.entries(CALLERS)
        .filter(([, caller]) => isAllowed(caller, rule))
        .map(([name]) => name),
    )
    const besideOperators: Readonly<Record<string, readonly string[]>> = {
      'federation:depth:show': ['member', 'reader'],
      'federation:events:list': ['member', 'reader'],
      'federation:intents:list': ['member', 'reader'],
      'federation:servers:chain': ['member', 'reader'],
      'federation:intents:cancel': ['member'],
      'federation:operations:cancel': ['member'],
      'federation:operations:show': ['member', 'reader', 'system reader'],
      'federation:operations:show:other': ['system reader'],
      'federation:servers:move': ['member'],
      'federation:protections:delete': ['member'],
      'federation:protections:list': ['member', 'reader'],
      'federation:protections:show': ['member', 'reader'],
      'federation:protections:update': ['member'],
      'federation:webhooks:create': ['member'],
      'federation:webhooks:delete': ['member'],
      'federation:webhooks:list': ['member', 'reader'],
      'federation:webhooks:list-dead-letters': ['member', 'reader'],
      'federation:webhooks:redeliver': ['member'],
      'federation:webhooks:replace-secret': ['member'],
      'federation:webhooks:show': ['member', 'reader'],
      'federation:webhooks:update': ['member'],
      'federation:audit:list': [],
      'federation:orphans:list': [],
    }
    const others = besideOperators[rule]
    const isRead = /:(list|show|copies|sensors)$/.test(rule)

    const operators = ['administrator', 'system administrator']
    const expected = [...operators, ...(others ?? (isRead ? ['system reader'] : []))]
    expect(allowed).toEqual(new Set(expected))
  },
)

test('a refusal is `forbidden` and names the rule', () => {
  const check = policyCheck('os_compute_api:servers:create')

  for (const refuse of [
    check,
    (caller: Caller) => enforce(caller, 'os_compute_api:servers:create'),
  ])
    expect(() => refuse(callerWith(['reader'], project))).toThrow(
      expect.objectContaining({
        kind: 'forbidden',
        message: expect.stringContaining('os_compute_api:servers:create') as string,
      }) as Error,
    )
})

test('a caller the rule allows passes, and an identity rule is refused in the words of Keystone', () => {
  const check = policyCheck('identity:list_users')
  const administrator = CALLERS['administrator']!

  expect(() => check(administrator)).not.toThrow()
  expect(() => enforce(administrator, 'identity:list_users')).not.toThrow()
  expect(() => check(CALLERS['member']!)).toThrow(
    'You are not authorized to perform the requested action: identity:list_users.',
  )
})

test('an unknown rule is a bug, found when routes are bound', () => {
  expect(() => policyCheck('os_compute_api:nothing')).toThrow('no rule os_compute_api:nothing')
})

function callerWith(roles: readonly string[], rest: Partial<Caller>): Caller {
  return { ...ANONYMOUS, roles: new Set(roles), ...rest }
}
