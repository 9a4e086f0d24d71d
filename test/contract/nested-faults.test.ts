import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { isFailure } from '#common/errors.ts'
import { type CellId, type HostId, newId } from '#common/ids.ts'
import { createNestedDriver } from '#drivers/nested/driver.ts'
import { nestedSettings } from '#drivers/nested/settings.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import { isFullRun } from '../env/full-run.ts'
import { SeededRandom } from '../env/random.ts'
import { type Disturbance, StubCloud } from '../env/stub-cloud.ts'
import { fullSpec, leftIn, serversOf, WORKS, type Work, type World } from './nested-work.ts'

const HTML = { body: '<html><title>Oops</title></html>' }
const SOON = { headers: { 'retry-after': '0' } }
const SILENCE_MS = 1_000
const SETTLES_MS = 200
const ACTS_MS = 30
const ANY = /./
/** Those that are answered with more than that it is done. */
const ANSWERED = /^GET|^POST (?!.*\/action$)/
/** Of one thing a cloud is believed that it is gone. */
const NOT_OF_ONE = /^POST|^GET .*\/(detail|images|networks|subnets|ports|limits|os-interface)$/
/** What may happen to any request. */
const FAULTS: Readonly<Record<string, { readonly does: Disturbance; readonly to?: RegExp }>> = {
  '400': { does: { answer: 400 } },
  '401': { does: { answer: 401 } },
  '403': { does: { answer: 403 } },
  '404': { does: { answer: 404 }, to: NOT_OF_ONE },
  '404 in HTML': { does: { answer: 404, ...HTML } },
  '409': { does: { answer: 409 } },
  '413': { does: { answer: 413 } },
  '413 and a time': { does: { answer: 413, ...SOON } },
  '429': { does: { answer: 429, ...SOON } },
  '500': { does: { answer: 500 } },
  '502 in HTML': { does: { answer: 502, ...HTML } },
  '503': { does: { answer: 503 } },
  '200 in HTML': { does: { answer: 200, ...HTML } },
  '200 and nothing': { does: { answer: 200, body: '{}' }, to: ANSWERED },
  'a list': { does: { answer: 200, body: '[]' }, to: ANSWERED },
  null: { does: { answer: 200, body: 'null' }, to: ANSWERED },
  'no body': { does: { answer: 202, body: '' }, to: ANSWERED },
  'the work and 500': { does: { workThen: 500 } },
  'the work and 504': { does: { workThen: 504 } },
  'other types': { does: { spoil: 'types' } },
  'other servers': { does: { spoil: 'ids' }, to: /compute\/servers/ },
  'half an answer': { does: { spoil: 'cut' } },
  silence: { does: { slow: 2 * SILENCE_MS } },
  'no answer': { does: { lose: 'answer' } },
  'no connection': { does: { lose: 'request' } },
  'the work later': { does: { late: SETTLES_MS / 2 } },
}
const ATTEMPTS_MS = 15_000
const TEST_MS = 600_000
const CASES_AT_ONCE = 6
/** Of each work in the short run: every fault has its turn with one or another. */
const FAULTS_IN_SHORT = 7

/** One fault that happens to requests of one work. */
interface Case {
  readonly fault: string
  /** How many requests are answered well before, and how many are not then. */
  readonly skip: number
  readonly times: number
}

describe.each(Object.entries(WORKS))('a nested cloud, asked to %s,', (name, work) => {
  test(
    'neither loses a server nor makes two, whatever it answers',
    async () => {
      const asked = await requestsOf(work)
      const cases = casesOf(name, asked)
      const wrong: string[] = []
      const next = cases.values()
      const worker = async () => {
        for (const each of next) {
          const what = `${each.fault} ${each.times} times after ${each.skip} of ${asked} requests`
          wrong.push(...(await trial(work, each)).map((problem) => `${what}: ${problem}`))
        }
      }
      await Promise.all(Array.from({ length: CASES_AT_ONCE }, worker))

      expect(wrong.join('\n')).toBe('')
    },
    TEST_MS,
  )
})

test('a snapshot whose content breaks off can be taken again', async () => {
  await using world = await openWorld()
  const { snapshot } = WORKS
  await prepare(world, snapshot!)
  world.cloud.disturb(/^GET .*\/file$/, { spoil: 'cut' })

  await expect(snapshot!.ask(world, signal())).rejects.toMatchObject({ kind: 'unavailable' })
  await snapshot!.ask(world, signal())
})

/** At requests and so often as chance has it, which is the same in every run. */
function casesOf(name: string, asked: number): readonly Case[] {
  const nth = Object.keys(WORKS).indexOf(name)
  const random = new SeededRandom(nth)
  const all = Object.keys(FAULTS)
  const short = Array.from(
    { length: FAULTS_IN_SHORT },
    (_, index) => all[(nth * FAULTS_IN_SHORT + index) % all.length]!,
  )
  return (isFullRun ? [...all, ...all, ...all] : short).map((fault) => ({
    fault,
    skip: Math.floor(random.next() * asked),
    times: 1 + Math.floor(random.next() * 3),
  }))
}

/** How many requests the work takes when nothing happens. */
async function requestsOf(work: Work): Promise<number> {
  await using world = await openWorld()
  await prepare(world, work)
  const before = world.cloud.asked.length
  await work.ask(world, signal())
  return world.cloud.asked.length - before
}

/** What went wrong. */
async function trial(work: Work, { fault, skip, times }: Case): Promise<readonly string[]> {
  await using world = await openWorld()
  const { cloud, driver, spec } = world
  await prepare(world, work)
  const wrong: string[] = []
  const check = (isSo: boolean, what: string) => void (isSo || wrong.push(what))
  const count = () => serversOf(world, spec.id).length
  const isDestroy = work === WORKS['destroy']

  const { does, to = ANY } = FAULTS[fault]!
  cloud.disturb(to, does, times, skip)
  const outcome = await asACellDoes(() => work.ask(world, signal()))
  cloud.calm()
  check(outcome !== 'never', 'it is never known')
  check(!outcome.startsWith('bug'), outcome)
  if (work.makes && outcome !== 'done') {
    check(leftIn(world).length === 0, `it said ${outcome}, and left ${leftIn(world).join(', ')}`)
    check((await world.records()).length === 0, `it said ${outcome}, and has a record`)
  } else if (!isDestroy) check(count() === 1, `it said ${outcome}, and there are ${count()}`)
  if (outcome === 'done') check(work.isDone(world), 'it is not done')
  else {
    const again = await asACellDoes(() => work.ask(world, signal()))
    check(again === 'done' && work.isDone(world), `it said ${outcome}, and then ${again}`)
  }
  if (!isDestroy) {
    const listed: string[] = []
    await asACellDoes(async () => {
      const reports = await driver.list(signal())
      listed.push(...reports.map(({ id }) => id))
    })
    check(listed.length === 1 && listed[0] === spec.id, `it lists ${listed.length}`)
  }
  // What was asked for twice is one in the end.
  await sleep(SETTLES_MS)
  await asACellDoes(() => driver.list(signal()))
  check(count() === (isDestroy ? 0 : 1), `in the end there are ${count()}`)
  const gone = await asACellDoes(() => driver.destroy(spec.id, signal()))
  check(gone === 'done' && leftIn(world).length === 0, `${gone}: left ${leftIn(world).join(', ')}`)
  return wrong
}

/** Asks again while the outcome is not known. */
async function asACellDoes(ask: () => Promise<unknown>): Promise<string> {
  const endsAt = performance.now() + ATTEMPTS_MS
  while (performance.now() < endsAt) {
    try {
      await ask()
      return 'done'
    } catch (error) {
      if (!isFailure(error)) return `bug: ${String(error)}`
      if (error.kind !== 'unavailable') return error.kind
    }
    await sleep(10)
  }
  return 'never'
}

async function prepare(world: World, work: Work): Promise<void> {
  if (work.makes) return
  await world.driver.spawn(world.spec, signal())
  await work.before?.(world, signal())
  // As after a list some time ago.
  await world.driver.list(signal())
}

async function openWorld() {
  const cloud = await StubCloud.start()
  cloud.compute.actsMs = ACTS_MS
  const stateDirectory = await mkdtemp(join(tmpdir(), 'weir-nested-'))
  const images = new TestImages()
  const settings = nestedSettings({
    auth_url: cloud.url,
    application_credential_id: 'id',
    application_credential_secret: 'secret',
    projects: 'any',
    networks: '127.0.0.0/8',
    allow_http: 'true',
    poll_ms: '10',
    create_settles_ms: String(SETTLES_MS),
    request_timeout_ms: String(SILENCE_MS),
    requests_per_second: '1000',
  })
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const driver = await createNestedDriver({ owner, stateDirectory, images: images }, settings)
  return {
    cloud,
    driver,
    spec: fullSpec(images.add(Buffer.from('disk'))),
    records: () => readdir(join(stateDirectory, 'instances')),
    async [Symbol.asyncDispose]() {
      await driver[Symbol.asyncDispose]()
      await cloud[Symbol.asyncDispose]()
      await rm(stateDirectory, { recursive: true, force: true })
    },
  }
}

function signal(): AbortSignal {
  return AbortSignal.timeout(ATTEMPTS_MS)
}
