import { type CellId, newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { registerCell } from '#gateway/app/cells/register-cell.ts'
import { createFlavor } from '#gateway/app/flavors/flavors.ts'
import { createImage } from '#gateway/app/images/create-image.ts'
import { uploadContent } from '#gateway/app/images/upload-content.ts'
import type { ServerRecord } from '#gateway/app/servers/list/server-record.ts'
import { findServer } from '#gateway/db/find-server.ts'
import { type ComputeApi, computeApi } from './compute-api.ts'
import { type FreshBus, freshBus } from './fresh-bus.ts'
import { createNetwork, createSubnet } from './network-objects.ts'
import { ScriptedCell } from './scripted-cell.ts'

const WAIT_MS = 30_000
const ADMIN = { projectId: 'a'.repeat(32), isAdmin: true }

/** A Compute API that can boot: a scripted cell, a flavor, a public image and a shared network. */
export interface BootWorld extends AsyncDisposable {
  readonly api: ComputeApi
  readonly bus: FreshBus
  readonly cell: ScriptedCell
  readonly flavorId: string
  readonly imageId: string
  readonly networkId: string
  /** A body for `createServer`, with the test's changes. */
  body(change?: Readonly<Record<string, unknown>>): { readonly server: object }
  /** Waits until `is` is true for the server. */
  until(id: string, is: (server: ServerRecord) => boolean): Promise<ServerRecord>
}

export async function bootWorld(
  name: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<BootWorld> {
  await using parts = new AsyncDisposableStack()
  const cellId = newId<CellId>()
  const bus = parts.use(await freshBus([cellId]))
  const api = parts.use(
    await computeApi(name, [], {
      ...settings,
      GATEWAY_NATS_URL: bus.url,
      GATEWAY_NATS_CREDENTIALS_FILE: await bus.gatewayCredentialsFile(),
    }),
  )
  const { db, compute } = api.gateway
  await registerCell(db, { id: cellId, name: 'north' })
  const cell = parts.use(await ScriptedCell.open(bus, cellId, 'north'))
  const catalog = await seedCatalog(api)
  await waitFor('a heartbeat of the cell', () => compute.cells.cell(cellId)?.isReachable, WAIT_MS)
  const owned = parts.move()
  const { flavorId, imageId, networkId } = catalog
  const networks = [{ uuid: networkId }]
  return {
    api,
    bus,
    cell,
    ...catalog,
    body: (change = {}) => ({
      server: { name: 'web', flavorRef: flavorId, imageRef: imageId, networks, ...change },
    }),
    until: (id, is) =>
      waitFor(
        `server ${id}`,
        async () => {
          const server = await findServer(db, id)
          if (server !== undefined && is(server)) return server
          throw new Error(`It is ${server?.vmState}, ${server?.taskState}`)
        },
        WAIT_MS,
      ),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function seedCatalog({ gateway: { db, images, networks } }: ComputeApi) {
  const flavor = await createFlavor(
    db,
    { requestId: 'req-1', userId: 'somebody' },
    {
      id: '1',
      name: 'm1.tiny',
      vcpus: 1,
      memoryMb: 128,
      rootGb: 1,
      ephemeralGb: 0,
      swapMb: 0,
      rxtxFactor: 1,
      isPublic: true,
      description: null,
    },
  )
  const imageId = await addImage(images, { name: 'tiny' })
  const network = await createNetwork(networks, ADMIN, { name: 'private', shared: true })
  await createSubnet(networks, ADMIN, {
    network_id: network.id,
    cidr: '10.0.0.0/16',
    ip_version: 4,
  })
  return { flavorId: flavor.id, imageId, networkId: network.id }
}

/** A public image with some content, for simulated guests; returns its id. */
export async function addImage(
  images: ComputeApi['gateway']['images'],
  draft: Readonly<Record<string, string>>,
): Promise<string> {
  const image = await createImage(images, ADMIN, {
    visibility: 'public',
    disk_format: 'raw',
    container_format: 'bare',
    hypervisor_type: 'fake',
    ...draft,
  })
  await uploadContent(images, ADMIN, {
    imageId: image.id,
    body: (async function* () {
      yield Buffer.alloc(1024, 'x')
    })(),
    declaredBytes: 1024,
  })
  return image.id
}
