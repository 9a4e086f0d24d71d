import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DocumentName, presentDocuments } from '#openapi/load-document.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { existsAt, isNode } from '#openapi/projection/annotations.ts'
import { objectsIn } from '#test/contract/described.ts'
import { sampleOf } from '#test/contract/sample.ts'
import type { Answer, ApiClient, Loose } from '#test/env/api/client.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { EXPECTED } from './expected.ts'
import { meantBody } from './meant.ts'
import { messageOf } from './message-of.ts'
import { absentId } from './targets.ts'
import { type WalkWorld, walkWorld } from './walk-world.ts'
import { bodyOf, isRead, NOBODY, pathOf, validBody, WALKED, type Walked } from './walked.ts'

let world: WalkWorld

beforeAll(async () => {
  world = await walkWorld()
})

afterAll(() => world?.[Symbol.asyncDispose]())

/** Reads name existing objects and writes missing ones: validation comes first, so nothing changes. */
async function ask(walked: Walked, version: Microversion, body?: unknown): Promise<Answer<Loose>> {
  const path = pathOf(walked, (service, parameter) => {
    const isName = parameter === 'key' || isRead(walked)
    return (
      (isName ? world.targets(service, parameter, version) : undefined) ??
      absentId(parameter, version)
    )
  })
  return clientFor(walked).call(walked.operation.method, path, body, { version })
}

/** Keypairs belong to the caller; everything else an administrator may see. */
function clientFor({ operation }: Walked): ApiClient {
  return operation.policy.startsWith('os_compute_api:os-keypairs') ? world.owner : world.admin
}

const of = (name: DocumentName) => WALKED.filter(({ service }) => service === name)

/** The problems at every microversion at which an operation or one of its parts changed. */
async function walk(
  name: DocumentName,
  problemsAt: (walked: Walked, version: Microversion) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const problems: string[] = []
  for (const walked of of(name))
    for (const version of walked.described.turningPoints(walked.operation))
      for (const problem of await problemsAt(walked, version))
        problems.push(`${walked.id} at ${version}: ${problem}`)
  return problems
}

const statusAndMessage = ({ status, body }: Answer<Loose>) => `${status} ${messageOf(body)}`

/** The answer to a valid request: a success, or that the object to be changed does not exist. */
function isAsExpected(walked: Walked, status: number): boolean {
  const { operation, id } = walked
  if (operation.isRefused) return status >= 400
  const expected = EXPECTED.get(id)
  if (expected !== undefined) return status === expected
  return isRead(walked) || !operation.path.includes('{') ? status < 400 : status === 404
}

describe.each(presentDocuments())('%s', (name) => {
  test('accepts valid requests', async () => {
    const problems = await walk(name, async (walked, version) => {
      const answer = await ask(walked, version, meantBody(walked, version, world.targets))
      return isAsExpected(walked, answer.status) ? [] : [statusAndMessage(answer)]
    })
    expect(problems).toEqual([])
  })

  test('accepts every documented property of a body', async () => {
    const problems = await walk(name, async (walked, version) => {
      const body = validBody(walked, version)
      if (body === undefined || !walked.operation.path.includes('{')) return []
      const answer = await ask(walked, version, body)
      return /Invalid input|is not known/.test(messageOf(answer.body))
        ? [statusAndMessage(answer)]
        : []
    })
    expect(problems).toEqual([])
  })

  test('refuses a misspelt field of every object, naming it', async () => {
    const problems = await walk(name, (walked, version) =>
      strangeFields(walked, version, (schema) =>
        schema['additionalProperties'] === false ? ['misspelt'] : [],
      ),
    )
    expect(problems).toEqual([])
  })

  test('refuses a field of another microversion, naming it', async () => {
    const problems = await walk(name, (walked, version) =>
      strangeFields(walked, version, ({ properties }) =>
        Object.entries(isNode(properties) ? properties : {})
          .filter(([, child]) => !existsAt(child, version))
          .map(([field]) => field),
      ),
    )
    expect(problems).toEqual([])
  })

  test('refuses a misspelt parameter where it is strict, and ignores it elsewhere', async () => {
    const problems = await walk(name, async (walked, version) => {
      if (walked.operation.method !== 'GET' || !isAsExpected(walked, 200)) return []
      const strict = walked.described.nodeOf(walked.operation)['x-strict-query']
      // Neutron's lists filter by any attribute, and refuse other parameters with a message of their own.
      const isList =
        name === 'network' &&
        /^list(Agents|Avail|Net|Port|Rbac|Rou|Sec|Sub)/.test(walked.operation.id)
      const isStrict = isList || strict === true || (isNode(strict) && existsAt(strict, version))
      const path = pathOf(walked, (s, p) => world.targets(s, p, version) ?? NOBODY)
      const answer = await clientFor(walked).get(`${path}?misspelt=1`, { version })
      const isRefused = answer.status === 400 && messageOf(answer.body).includes("'misspelt'")
      return isRefused === isStrict ? [] : [statusAndMessage(answer)]
    })
    expect(problems).toEqual([])
  })

  test('has no operation before its time and none after', async () => {
    const problems: string[] = []
    for (const walked of of(name)) {
      const { described, operation, id } = walked
      for (const version of edgesOf(walked)) {
        const [there = version] = described.turningPoints(operation)
        const answer = await ask(walked, version, validBody(walked, there))
        if (answer.status !== operation.absentAs)
          problems.push(`${id} at ${version}: ${statusAndMessage(answer)}`)
      }
    }
    expect(problems).toEqual([])
  })
})

test('nothing half-made is left by the requests', async () => {
  await expectInvariants(world.cloud)
})

/** The microversions without an operation that are next to one with it. */
function edgesOf({ described: { contract }, operation }: Walked): readonly Microversion[] {
  const { versions } = contract
  return versions.filter((version, i) => {
    const near = [versions[i - 1], versions[i + 1]].filter((each) => each !== undefined)
    return !operation.isAvailable(version) && near.some((each) => operation.isAvailable(each))
  })
}

/** Adds one unknown field at a time to each object of a valid body; every body that is not refused is a problem. */
async function strangeFields(
  walked: Walked,
  version: Microversion,
  fieldsFor: (schema: Loose) => readonly string[],
): Promise<readonly string[]> {
  const schema = walked.described.bodySchema(walked.operation)
  if (schema === undefined) return []
  const problems: string[] = []
  const sample = sampleOf(schema, version)
  for (const [node, object] of objectsIn(schema, sample, version))
    for (const field of fieldsFor(node)) {
      object[field] = null
      const answer = await ask(walked, version, bodyOf(walked, sample))
      delete object[field]
      const isNamed = messageOf(answer.body).includes(`'${field}' is not known`)
      // Of several forms of an object, none fits.
      const isNoForm = messageOf(answer.body).includes('none of the permitted forms')
      if (answer.status !== 400 || !(isNamed || isNoForm))
        problems.push(`${field} ${statusAndMessage(answer)}`)
    }
  return problems
}
