import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stopNats } from '#deploy/nats.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { type BusCluster, startBusCluster } from '../env/bus-cluster.ts'
import { makeCertificate, trust } from '../env/certificate.ts'
import { type Cloud, startCloud } from '../env/cloud.ts'
import { expectInvariants } from '../env/invariants.ts'
import { joinCell } from '../env/joined-cell.ts'
import { testServices } from '../env/services.ts'
import { type LoadFigures, SteadyLoad } from '../env/steady-load.ts'

// Goal: users of a cloud whose bus is a cluster notice nothing but latency when any one server of the cluster is lost.

/** Some two seconds of the load. */
const BOOTS = 20
const OTHERS = 2

const directory = mkdtempSync(join(tmpdir(), 'weir-bus-'))
let bus: BusCluster
let cloud: Cloud
let load: SteadyLoad
const figures: string[] = []

beforeAll(async () => {
  const services = await testServices()
  const tls = makeCertificate(directory)
  trust(tls)
  bus = await startBusCluster(directory, tls)
  cloud = await startCloud({
    cells: 1,
    driver: { vcpus: '1000', memory_mb: '1000000', disk_gb: '100000' },
    services: { ...services, natsUrl: bus.url, natsLeafUrl: bus.leafUrl, natsKeys: bus.keys },
  })
  load = await SteadyLoad.begin(cloud)
  await load.untilBooted(1)
})

afterAll(async () => {
  await load?.end()
  await cloud?.[Symbol.asyncDispose]()
  await bus?.[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true, force: true })
})

type Fault = 'killed' | 'frozen' | 'restarted'

const BEGIN: Readonly<Record<Fault, (place: number) => Promise<void>>> = {
  killed: (place) => bus.kill(place),
  frozen: async (place) => bus.freeze(place),
  restarted: (place) => stopNats(bus.directoryOf(place)),
}

/** Boots go on meanwhile and afterwards, and the cluster is whole again. */
async function lose(fault: Fault, place: number): Promise<void> {
  const programs = await bus.programsOn(place)
  const lost = await load.during(async () => {
    await BEGIN[fault](place)
    await load.untilBooted(BOOTS)
    await load.untilGone()
  })
  const back = await load.during(async () => {
    if (fault === 'frozen') bus.thaw(place)
    else await bus.start(place)
    await bus.waitForRoutes(place, OTHERS)
    await load.untilBooted(BOOTS)
  })
  const name = `server ${place + 1} with ${programs} connections ${fault}`
  figures.push(describe(name, lost), describe(`server ${place + 1} back`, back))
}

function describe(what: string, { boots, longestGapMs, slowestMs }: LoadFigures): string {
  return `${what}: ${boots} boots, longest gap ${longestGapMs} ms, slowest boot ${slowestMs} ms`
}

test('boots and deletes go on while servers are frozen, and in the long run killed and restarted', async () => {
  // Programs stay where they went: a server that has just come back has none.
  await lose('frozen', 0)
  // In the short run control-plane.test.ts kills one, and the test below.
  if (isFullRun) {
    await lose('killed', 1)
    await lose('frozen', 2)
    await lose('killed', 0)
    await lose('frozen', 1)
    await lose('killed', 2)
    for (const place of [0, 1, 2]) await lose('restarted', place)
  }

  expect(load.refused).toEqual([])
})

test('a cell joins while a server is down, and is known to it when it is back', async () => {
  await bus.kill(0)

  await using edge = await joinCell(cloud, 'edge')

  const isReachable = async (gateway: number) => {
    const path = `/federation/v1/cells/${edge.id}`
    const { body } = await cloud.as('admin').get<{ is_reachable: boolean }>(path, { gateway })
    return body.is_reachable
  }
  await expect.poll(() => isReachable(0)).toBe(true)
  await expect.poll(() => isReachable(1)).toBe(true)

  await bus.start(0)
  await bus.waitForRoutes(0, OTHERS)
  // Whichever server a gateway was connected to, it is the returned one now.
  await bus.kill(1)
  await bus.kill(2)
  await expect.poll(() => isReachable(0)).toBe(true)
  await expect.poll(() => isReachable(1)).toBe(true)
  await Promise.all([bus.start(1), bus.start(2)])
})

test('afterwards nothing is lost, doubled or left over', async ({ annotate }) => {
  await load.end()
  await expectInvariants(cloud)

  for (const line of figures) await annotate(line)
  expect(load.refused).toEqual([])
})
