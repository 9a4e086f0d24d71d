import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { presentDocuments } from '#openapi/load-document.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { existsAt } from '#openapi/projection/annotations.ts'
import { sampleOf } from '#test/contract/sample.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { expectInvariants } from '#test/env/invariants.ts'
import { meantBody } from './meant.ts'
import { nearValid, nearValidText } from './near-valid.ts'
import { type WalkWorld, walkWorld } from './walk-world.ts'
import { isRead, NOBODY, pathOf, WALKED, type Walked } from './walked.ts'

/** Found again with the same numbers; a long run looks elsewhere each time. */
const RUNS = isFullRun ? { numRuns: 40 } : { numRuns: 6, seed: 20_261_121 }
const LIMIT_MS = 600_000
const NAMES_OF_NOTHING = ['é', 'a\u0000b', '%', '👩‍👩‍👧'.repeat(40)]

let world: WalkWorld

beforeAll(async () => {
  world = await walkWorld()
})

afterAll(() => world?.[Symbol.asyncDispose]())

/** What throws here answered 5xx or in a shape no document has: `call` checks every answer. */
async function ask(walked: Walked, version: Microversion, query: string, body: unknown) {
  const path = pathOf(walked, (service, parameter) => targetOf(walked, service, parameter, version))
  await world.admin.call(walked.operation.method, path + query, body, { version })
}

/** Real things, but for what would end the walk for everything after it. */
function targetOf(
  { operation }: Walked,
  service: Walked['service'],
  parameter: string,
  version: Microversion,
): string {
  const ends = operation.method === 'DELETE' || parameter === 'user_id'
  return (ends ? undefined : world.targets(service, parameter, version)) ?? NOBODY
}

describe.each(presentDocuments())('%s', (name) => {
  const walks = WALKED.filter(({ service }) => service === name)

  test(
    'answers bodies near valid ones as its document says, and never with 5xx',
    async () => {
      for (const walked of walks) {
        const version = walked.described.turningPoints(walked.operation).at(-1)
        if (version === undefined || walked.described.bodySchema(walked.operation) === undefined)
          continue
        const bodies = nearValid(meantBody(walked, version, world.targets))
        const property = fc.asyncProperty(bodies, (body) => ask(walked, version, '', body))
        await fc.assert(property, RUNS)
      }
    },
    LIMIT_MS,
  )

  test(
    'answers queries near valid ones as its document says, and never with 5xx',
    async () => {
      for (const walked of walks) {
        const version = walked.described.turningPoints(walked.operation).at(-1)
        if (version === undefined) continue
        const parameters = walked.described
          .queryParameters(walked.operation)
          .filter((parameter) => existsAt(parameter, version))
        for (const parameter of parameters) {
          const valid = String([sampleOf(parameter['schema'], version)].flat()[0])
          const property = fc.asyncProperty(nearValidText(valid), (text) =>
            ask(
              walked,
              version,
              `?${String(parameter['name'])}=${encodeURIComponent(text)}`,
              isRead(walked) ? undefined : meantBody(walked, version, world.targets),
            ),
          )
          await fc.assert(property, RUNS)
        }
      }
    },
    LIMIT_MS,
  )
})

test(
  'answers names that nothing can have, and never with 5xx',
  async () => {
    for (const walked of WALKED) {
      const version = walked.described.turningPoints(walked.operation).at(-1)
      if (version === undefined || !walked.operation.path.includes('{')) continue
      const body = isRead(walked) ? undefined : meantBody(walked, version, world.targets)
      for (const name of NAMES_OF_NOTHING)
        await world.admin.call(
          walked.operation.method,
          pathOf(walked, () => name),
          body,
          { version },
        )
    }
  },
  LIMIT_MS,
)

/** Requests may have declared hosts down, and nothing is deleted in a store that no host reaches. */
async function bringHostsBack(): Promise<void> {
  const { admin } = world
  const path = '/compute/v2.1/os-services'
  const version = '2.53'
  const { body } = await admin.get<{ services: readonly { readonly id: string }[] }>(path, {
    version,
  })
  for (const { id } of body.services)
    await admin.put(`${path}/${id}`, { forced_down: false, status: 'enabled' }, { version })
}

test('nothing half-made is left by the requests', async () => {
  await bringHostsBack()
  await expectInvariants(world.cloud)
})
