import { globSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { loadContract } from '#openapi/contract.ts'
import { presentDocuments } from '#openapi/load-document.ts'
import { PUBLIC_POLICY } from '#openapi/projection/operation.ts'
import { enforce, isAllowed, POLICY, policyCheck, type Who } from './policy.ts'
import { ANONYMOUS, type Caller } from './request-context.ts'

const DOCUMENT_RULES = new Set(
  presentDocuments()
    .flatMap((name) => loadContract(name).operations)
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

/** Who of CALLERS each class of rule allows. */
const ALLOWED: Readonly<Record<Who, readonly string[]>> = {
  authenticated: Object.keys(CALLERS),
  reader: ['administrator', 'system administrator', 'member', 'reader'],
  member: ['administrator', 'system administrator', 'member'],
  admin: ['administrator', 'system administrator'],
  'system-reader': ['administrator', 'system administrator', 'system reader'],
  'domain-reader': [
    'administrator',
    'system administrator',
    'system reader',
    'domain administrator',
    'domain reader',
  ],
  'domain-manager': ['administrator', 'system administrator', 'domain administrator'],
  service: ['administrator', 'system administrator', 'system reader', 'service'],
  'service-or-admin': ['administrator', 'system administrator', 'service'],
}

describe.each(Object.entries(POLICY))('%s', (rule, who) => {
  test(`allows who ‘${who}’ means, and nobody else`, () => {
    const allowed = Object.entries(CALLERS).filter(([, caller]) => isAllowed(caller, rule))

    expect(allowed.map(([name]) => name)).toEqual(ALLOWED[who])
  })
})

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

test('an unknown rule is a bug, found when routes are bound', () => {
  expect(() => policyCheck('os_compute_api:nothing')).toThrow('no rule os_compute_api:nothing')
})

function callerWith(roles: readonly string[], rest: Partial<Caller>): Caller {
  return { ...ANONYMOUS, roles: new Set(roles), ...rest }
}
