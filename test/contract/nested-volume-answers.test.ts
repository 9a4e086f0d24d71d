import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isFailure } from '#common/errors.ts'
import { type AttachmentId, newId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import type { Driver } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { VolumeRef } from '#drivers/volumes.ts'
import { storesReported } from '../env/stores-reported.ts'
import { type NestedHarness, startNestedHarness } from './nested-harness.ts'

// Goal: when an answer of the nested cloud is lost, a repeated request leaves one volume or none, and no attachment that the cell does not know.

const GIB = 1024 ** 3
const VOLUME = '/volume/v3'
const PATIENCE_MS = 20_000

/** Stands between a driver and a cloud: the answers of requests that are lost have been carried out. */
class Losing implements AsyncDisposable {
  readonly url: string
  readonly #server: Server
  /** Requests that changed something, since the last `watch`. */
  readonly seen: string[] = []
  #loses = -1

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  static async before(cloud: string): Promise<Losing> {
    let losing: Losing
    const server = createServer((incoming, outgoing) => {
      const { hostname, port } = new URL(cloud)
      const { method = 'GET', url: path = '', headers } = incoming
      const isLost = losing.#note(method, path)
      const onward = request(
        { hostname, port, method, path, headers },
        (answer: IncomingMessage) => {
          if (isLost) {
            answer.resume().on('end', () => outgoing.destroy())
            return
          }
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.pipe(outgoing)
        },
      )
      onward.on('error', () => outgoing.destroy())
      incoming.pipe(onward)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    losing = new Losing(server)
    return losing
  }

  /** From now on counts the requests that change something; the answer of the nth is lost, none for -1. */
  watch(loses: number): void {
    this.seen.length = 0
    this.#loses = loses
  }

  #note(method: string, path: string): boolean {
    if (method === 'GET' || path.includes('/auth/')) return false
    this.seen.push(`${method} ${path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')}`)
    return this.seen.length - 1 === this.#loses
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

let harness: NestedHarness
let losing: Losing
let driver: Driver
let store: string
const signal = () => AbortSignal.timeout(PATIENCE_MS)

beforeAll(async () => {
  harness = await startNestedHarness()
  await storesReported(harness.child)
  losing = await Losing.before(harness.child.endpoints[0]!)
  driver = await harness.openAs(harness.owner, { auth_url: `${losing.url}/identity` })
  store = (await driver.volumes!.stores(signal()))[0]!.id
}, 60_000)
afterAll(async () => {
  await driver?.[Symbol.asyncDispose]()
  await losing?.[Symbol.asyncDispose]()
  await harness?.[Symbol.asyncDispose]()
})

/** As a cell does: repeated while the outcome is unknown. */
async function insist(work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work()
      return
    } catch (error) {
      if (!isFailure(error, 'unavailable')) throw error
    }
  }
}

type Below = Readonly<
  Record<'volumes' | 'snapshots', readonly { readonly status: string; readonly size: number }[]>
>
const below = async (kind: keyof Below) => {
  const { body } = await harness.child.as('demo').get<Below>(`${VOLUME}/${kind}/detail`)
  return body[kind].map(({ status, size }) => `${status} ${size}`)
}

test('a life of a volume survives the loss of any answer', async () => {
  const guest = instanceSpec(harness.image)
  await driver.spawn(guest, signal())
  const from = { image: harness.image }
  const lost: string[] = []
  for (let nth = 0; ; nth += 1) {
    const ref: VolumeRef = { store, id: newId<VolumeId>() }
    const snapshot = newId<VolumeSnapshotId>()
    const [attachmentId, id] = [newId<AttachmentId>(), ref.id]
    const attachment = { store, id, attachmentId, isReadOnly: false, isShared: false }
    const volumes = driver.volumes!
    losing.watch(nth)

    await insist(() => volumes.create({ ...ref, bytes: GIB, from }, signal()))
    expect(await below('volumes')).toEqual(['available 1'])
    await insist(() => volumes.attach(guest.id, attachment, signal()))
    await insist(() => volumes.extend(ref, 2 * GIB, signal()))
    await insist(() => volumes.snapshot(ref, snapshot, signal()))
    expect([await below('volumes'), await below('snapshots')]).toEqual([
      ['in-use 2'],
      ['available 2'],
    ])
    await insist(() => volumes.detach(guest.id, attachmentId, signal()))
    expect(await below('volumes')).toEqual(['available 2'])
    await insist(() => volumes.destroySnapshot(ref, snapshot, signal()))
    await insist(() => volumes.destroy(ref, signal()))

    expect([await below('volumes'), await below('snapshots')]).toEqual([[], []])
    const asked = losing.seen[nth]
    if (asked === undefined) break
    lost.push(asked)
  }
  expect(lost).toEqual(
    expect.arrayContaining([
      `POST ${VOLUME}/volumes`,
      `POST ${VOLUME}/snapshots`,
      'POST /compute/v2.1/servers/ID/os-volume_attachments',
      'DELETE /compute/v2.1/servers/ID/os-volume_attachments/ID',
      `DELETE ${VOLUME}/snapshots/ID`,
      `DELETE ${VOLUME}/volumes/ID`,
    ]),
  )
  losing.watch(-1)
  await driver.destroy(guest.id, signal())
}, 120_000)

test('a server that starts from a volume survives the loss of any answer', async () => {
  const volumes = driver.volumes!
  const ref: VolumeRef = { store, id: newId<VolumeId>() }
  losing.watch(-1)
  await volumes.create({ ...ref, bytes: GIB, from: { image: harness.image } }, signal())
  for (let nth = 0; ; nth += 1) {
    const attachment = { ...ref, attachmentId: newId<AttachmentId>(), isRoot: true as const }
    const root = { ...attachment, isReadOnly: false, isShared: false }
    const spec = { ...instanceSpec(harness.image), volumes: [root] }
    losing.watch(nth)

    await insist(() => driver.spawn(spec, signal()))
    expect(await below('volumes')).toEqual(['in-use 1'])
    await expect(volumes.detach(spec.id, root.attachmentId, signal())).rejects.toMatchObject({
      kind: 'conflict',
    })
    await insist(() => driver.destroy(spec.id, signal()))

    expect(await below('volumes')).toEqual(['available 1'])
    expect(await harness.leftovers(spec.id)).toEqual([])
    if (losing.seen[nth] === undefined) break
  }
  losing.watch(-1)
  await volumes.destroy(ref, signal())
}, 120_000)
