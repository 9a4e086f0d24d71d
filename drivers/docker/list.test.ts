import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CellId, type HostId, type InstanceId, newId } from '#common/ids.ts'
import { Engine } from './engine/engine.ts'
import type { DockerHost } from './host.ts'
import { list } from './list.ts'
import { containerName } from './names.ts'

// Goal: a guest that its engine takes with it is not seen as one that went off by itself.

const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
const id = newId<InstanceId>()
const signal = () => AbortSignal.timeout(10_000)

let directory: string
let server: Server
let engine: Engine
let state: string
/** When the engine started; it starts again while it is asked whether it takes connections, if that is given. */
let startedAt: string
let restartsAt: string | undefined

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'weir-engine-'))
  state = 'running'
  startedAt = '2026-01-01T00:00:00Z'
  restartsAt = undefined
  const container = () => ({ Id: 'c', Names: [`/${containerName(id)}`], State: state })
  const answers: Readonly<Record<string, () => object>> = {
    '/version': () => ({ ApiVersion: '1.41', MinAPIVersion: '1.12' }),
    '/v1.41/containers/json': () => [container()],
    '/v1.41/containers/c/json': () => ({ State: { FinishedAt: '2026-01-02T00:00:00Z' } }),
    '/_ping': () => {
      startedAt = restartsAt ?? startedAt
      return {}
    },
    '/v1.41/networks/bridge': () => ({ Created: startedAt }),
  }
  server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0]!
    response.end(JSON.stringify(answers[path]?.() ?? {}))
  })
  const socketPath = join(directory, 'socket')
  server.listen(socketPath)
  await once(server, 'listening')
  engine = new Engine({ origin: 'http://localhost', connect: { socketPath }, isLocal: true })
})

afterEach(async () => {
  await engine[Symbol.asyncDispose]()
  server.closeAllConnections()
  server.close()
  await rm(directory, { recursive: true })
})

const listed = () => list({ engine, owner } as unknown as DockerHost, signal())

test('a guest that is off is reported while its engine takes connections', async () => {
  state = 'exited'
  expect(await listed()).toEqual([{ id, powerState: 'shutdown' }])
})

test('nothing is said of guests that are off once their engine takes no more connections', async () => {
  expect(await listed()).toEqual([{ id, powerState: 'running' }])

  // It answers on those that are open until all of its containers are off.
  await rm(join(directory, 'socket'))
  state = 'exited'
  await expect(listed()).rejects.toMatchObject({ kind: 'unavailable' })
})

test('a guest went with its engine that ended and started again while it was looked at', async () => {
  state = 'exited'
  restartsAt = '2026-01-03T00:00:00Z'
  expect(await listed()).toEqual([{ id, powerState: 'shutdown', endedWithHost: true }])
})
