import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLogger } from '#common/log.ts'
import { ClientCommands } from '../env/client-commands.ts'
import type { CloudProcess } from '../env/cloud/cloud-process.ts'
import { type ControlPlane, startControlPlane } from '../env/control-plane.ts'
import { isFullRun } from '../env/full-run.ts'
import { expectInvariants } from '../env/invariants.ts'
import { type LoadFigures, SteadyLoad } from '../env/steady-load.ts'
import { storesReported } from '../env/stores-reported.ts'
import { UserWrites } from '../env/user-writes.ts'

// Goal: when one part of a control plane of three machines is lost, or two parts of different kinds at once, users notice
// nothing but latency: no request fails, and nothing is lost, doubled or left over.

const BOOTS = 20
const OTHERS = 2
/**
 * With a gateway the connections are lost of requests that it is answering. The proxy repeats those that may be repeated,
 * boots and deletes among them. A client that loses another request cannot know whether it was carried out, nor can a
 * gateway that is cut off from the database under a commit, which answers 503. The proxy does not have the content of an
 * upload any more: it waits at such a gateway, and is answered 503 if that takes too long. The `openstack` command asks once
 * more by itself where it has lost an answer, and is told of what its first request has made.
 */
const LOST =
  /SocketError|answered 502|^Error: [a-z]+: 503|HTTP 50[23]|HttpException: 50[23]|Connection aborted|ConflictException: 409: .* already exists/
/** The proxy ends a request that it is about to send to another gateway in the very moment in which it gives the first one up. */
const WHILE_CONNECTED = /SocketError: other side closed/
/** Ten boots and deletes are asked for in a second: no two fall into these milliseconds. */
const WHILE_CONNECTED_MAX = 1
/** Uploads without the S3. */
const UPLOAD = /^Error: image: 503/
const NOTHING = /(?!)/
/** One of each kind of write when the gateway ends, and one when the proxy gives it up. */
const LOST_MAX = 8

const log = createLogger('control-plane', 'info')

let plane: ControlPlane
let load: SteadyLoad
let writes: UserWrites
let commands: ClientCommands
const figures: string[] = []

beforeAll(async () => {
  plane = await startControlPlane()
  load = await SteadyLoad.begin(plane.cloud, plane.proxy)
  await storesReported(plane.cloud)
  writes = new UserWrites(plane.cloud, plane.proxy)
  commands = new ClientCommands(plane.cloud, plane.proxy)
  await load.untilBooted(1)
}, 180_000)

afterAll(async () => {
  await Promise.all([load?.end(), writes?.end(), commands?.end()])
  await plane?.[Symbol.asyncDispose]()
})

/** Begins a fault; the function that it returns makes everything whole again. */
type Fault = () => Promise<() => Promise<void>>

const killWriter: Fault = async () => {
  const { galera } = plane
  const writer = await galera.writer()
  await galera.kill(writer)
  return async () => {
    await galera.start(writer)
    await galera.whenWhole()
  }
}

const freezeWriter: Fault = async () => {
  const { galera } = plane
  const writer = await galera.writer()
  galera.freeze(writer)
  return async () => {
    galera.thaw(writer)
    await galera.whenWhole()
  }
}

const killBusServer: Fault = async () => {
  await plane.bus.kill(0)
  return async () => {
    await plane.bus.start(0)
    await plane.bus.waitForRoutes(0, OTHERS)
  }
}

const gateway = () => plane.cloud.gateways[0]!
const cellProcess = () => plane.cloud.cell('north').processes[0]!

const kill =
  (process: () => CloudProcess): Fault =>
  async () => {
    await process().kill()
    return () => process().start()
  }

/** A process that stands still, and whose connections stay open. */
const suspend =
  (process: () => CloudProcess): Fault =>
  async () => {
    process().suspend()
    return async () => process().resume()
  }

/** A process that ends in good order, and is started again. */
const stop =
  (process: () => CloudProcess): Fault =>
  async () => {
    await process().stop()
    return () => process().start()
  }

/** A gateway that runs on, and whose messages to and from the database or the bus are lost. */
const cutOff =
  (setting: 'GATEWAY_DATABASE_URL' | 'GATEWAY_NATS_URL'): Fault =>
  async () => {
    gateway().freeze(setting)
    return async () => gateway().thaw()
  }

const both =
  (one: Fault, other: Fault): Fault =>
  async () => {
    const heals = [await one(), await other()]
    return async () => {
      for (const heal of heals) await heal()
    }
  }

/** What its gap is compared with: users of a small machine notice each other. */
const nothing: Fault = async () => async () => undefined

const SHORT: Readonly<Record<string, Fault>> = {
  'the writer of the databases is killed': killWriter,
  'a server of the bus is killed': killBusServer,
  'a gateway is killed': kill(gateway),
  'a gateway is cut off from the databases alone': cutOff('GATEWAY_DATABASE_URL'),
}

const LONG: Readonly<Record<string, Fault>> = {
  'nothing is lost': nothing,
  // npm run faults, which CI runs too, kills processes of cells all the time.
  'a process of a cell is killed': kill(cellProcess),
  'the writer of the databases is frozen': freezeWriter,
  'the writer of the databases is stopped': async () => {
    const { galera } = plane
    const writer = await galera.writer()
    await galera.stop(writer)
    return async () => {
      await galera.start(writer)
      await galera.whenWhole()
    }
  },
  'the writer of the databases is cut off from the others': async () => {
    const { galera } = plane
    const writer = await galera.writer()
    await galera.setPartitioned(writer, true)
    return async () => {
      await galera.setPartitioned(writer, false)
      await galera.whenWhole()
    }
  },
  'a node of the databases that is not the writer is killed': async () => {
    const { galera } = plane
    const other = ((await galera.writer()) + 1) % (OTHERS + 1)
    await galera.kill(other)
    return async () => {
      await galera.start(other)
      await galera.whenWhole()
    }
  },
  'a server of the bus is frozen': async () => {
    plane.bus.freeze(1)
    return async () => {
      plane.bus.thaw(1)
      await plane.bus.waitForRoutes(1, OTHERS)
    }
  },
  'a server of the bus is stopped': async () => {
    await plane.bus.stop(2)
    return async () => {
      await plane.bus.start(2)
      await plane.bus.waitForRoutes(2, OTHERS)
    }
  },
  'the S3 is lost': async () => {
    const { front } = plane.s3
    front.fail(() => ({ do: 'answer', status: 503, code: 'ServiceUnavailable' }))
    return async () => front.heal()
  },
  'the S3 does not answer': async () => {
    const { front } = plane.s3
    front.fail(() => ({ do: 'hang' }))
    return async () => front.heal()
  },
  'a gateway is cut off from the bus alone': cutOff('GATEWAY_NATS_URL'),
  'a gateway is cut off from the databases and the bus': async () => {
    gateway().freeze()
    return async () => gateway().thaw()
  },
  'a gateway is frozen': suspend(gateway),
  'a gateway is stopped': stop(gateway),
  'a process of a cell is frozen': suspend(cellProcess),
  'a process of a cell is stopped': stop(cellProcess),
  'a process of a cell is cut off from the databases and the bus': async () => {
    cellProcess().freeze()
    return async () => cellProcess().thaw()
  },
  'all gateways, processes of cells, servers of the bus and nodes of the databases restart, one after the other':
    async () => {
      const { cloud, bus, galera } = plane
      const cells = ['north', 'south'].flatMap((name) => cloud.cell(name).processes)
      for (const process of [...cloud.gateways, ...cells]) {
        await process.stop()
        await process.start()
      }
      for (const server of [0, 1, 2]) {
        await bus.stop(server)
        await bus.start(server)
        await bus.waitForRoutes(server, OTHERS)
      }
      for (const node of [0, 1, 2]) {
        await galera.stop(node)
        await galera.start(node)
        await galera.whenWhole()
      }
      return async () => undefined
    },
  'the writer and a gateway are killed': both(killWriter, kill(gateway)),
  'the writer and a server of the bus are killed': both(killWriter, killBusServer),
  'the writer and a process of a cell are killed': both(killWriter, kill(cellProcess)),
  'a server of the bus and a gateway are killed': both(killBusServer, kill(gateway)),
}

function said({ longestSilenceMs, longestGapMs, slowestMs }: LoadFigures): string {
  return `longest time without an answer ${longestSilenceMs} ms, without the end of a boot ${longestGapMs} ms, slowest boot ${slowestMs} ms`
}

function excusedWhere(fault: string): RegExp {
  if (fault.includes('gateway')) return LOST
  return fault.includes('S3') ? UPLOAD : NOTHING
}

test.each(Object.entries(isFullRun ? { ...SHORT, ...LONG } : SHORT))(
  'users notice nothing but latency where %s',
  async (name, fault) => {
    const before = [load, writes, commands].map(({ refused }) => refused.length)
    const excused = excusedWhere(name)
    const logged = plane.proxyLog().length

    let heal: () => Promise<void> = async () => undefined
    const lost = await load.during(async () => {
      heal = await fault()
      await load.untilBooted(BOOTS)
    })
    const back = await load.during(async () => {
      await heal()
      await load.untilBooted(BOOTS)
    })

    figures.push(`${name}: ${said(lost)}; when it is back: ${said(back)}`)
    log.info({ figure: figures.at(-1) }, 'longest gaps')
    const seen = `The proxy logged: ${plane.proxyLog().slice(logged)}`
    const ended = load.refused.slice(before[0])
    const mayEnd = name.includes('gateway') ? WHILE_CONNECTED : NOTHING
    expect(
      ended.filter(({ how }) => !mayEnd.test(how)),
      seen,
    ).toEqual([])
    expect(ended.length, seen).toBeLessThanOrEqual(WHILE_CONNECTED_MAX)
    const cut = [...writes.refused.slice(before[1]), ...commands.refused.slice(before[2])]
    expect(
      cut.filter(({ how }) => !excused.test(how)),
      seen,
    ).toEqual([])
    if (!name.includes('S3')) expect(cut.length).toBeLessThanOrEqual(LOST_MAX)
  },
)

test('afterwards nothing is lost, doubled or left over', async ({ annotate }) => {
  const { answered } = writes
  await Promise.all([load.end(), writes.end(), commands.end()])
  await expectInvariants(plane.cloud)

  for (const line of figures) await annotate(line)
  expect(answered).toBeGreaterThan(0)
  expect(commands.done).toBeGreaterThan(0)
})
