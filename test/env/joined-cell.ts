import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fmtCreds } from '@nats-io/jwt'
import { createAccount, createUser } from '@nats-io/nkeys'
import { configFromEnv } from '#cells/config.ts'
import { startCell } from '#cells/context.ts'
import { type CellId, parseId } from '#common/ids.ts'
import { startNats, stopNats } from '#deploy/nats.ts'
import { cellAccount, SERVER_SIDE_PERMISSIONS } from '#gateway/bus/accounts.ts'
import { createCellAccount } from '#gateway/bus/create-cell-account.ts'
import { issueCredentials } from '#gateway/bus/issue-credentials.ts'
import { busLeafUrl } from '#openapi/wire.ts'
import type { ApiClient } from './api/client.ts'
import type { Cloud } from './cloud.ts'
import { migratedDatabase } from './migrated-database.ts'
import type { TestServices } from './services.ts'

/** A cell that has joined the cloud by a token, with a database and a bus of its own, and without hosts. */
export interface JoinedCell extends AsyncDisposable {
  readonly id: CellId
  /** Of its own bus, where its hosts are. */
  readonly busUrl: string
  /** With which its bus knows whom. */
  readonly accountSeed: string
}

/** What a cell joins. */
export interface JoinedBy {
  readonly admin: Pick<ApiClient, 'post'>
  /** Of its gateways. */
  readonly endpoints: readonly string[]
  /** Scratch space. */
  readonly directory: string
}

interface Joined {
  readonly cell: { readonly id: string }
  readonly credential: string
}

/** Resolves once the cell serves; gateways may hear of it later. Its bus reaches theirs through any of the gateways. */
export function joinCell(cloud: Cloud, name: string): Promise<JoinedCell> {
  const { directory, services } = cloud.foundation
  return joinCellTo(
    { admin: cloud.as('admin'), endpoints: cloud.endpoints, directory },
    name,
    services,
  )
}

/** The same at any gateways; its database is at the run's MariaDB if no other is given. */
export async function joinCellTo(
  { admin, endpoints, directory }: JoinedBy,
  name: string,
  services?: TestServices,
): Promise<JoinedCell> {
  const key = createUser()
  const made = await admin.post<{ token: string }>('/federation/v1/tokens', { cell: name })
  const { body } = await admin.post<Joined>('/federation/v1/join', {
    token: made.body.token,
    public_key: key.getPublicKey(),
    wire_versions: [1],
  })
  const id = parseId<CellId>(body.cell.id, 'cell id')
  const secret = (file: string, text: string | Uint8Array) => {
    const path = join(directory, `${name}-${file}`)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }
  const uplink = secret('uplink.creds', fmtCreds(body.credential, key))
  const { publicKey, seed } = await createCellAccount(id, createAccount().getPublicKey())
  const own = secret('own.creds', await issueCredentials(name, seed, SERVER_SIDE_PERMISSIONS))
  const account = { publicKey, claims: cellAccount(id) }
  await using owned = new AsyncDisposableStack()
  const at = join(directory, `${name}-nats`)
  owned.defer(() => stopNats(at))
  const nats = await startNats(at, 'with-parent', {
    uplink: { credentialsFile: uplink, account },
  })
  const leafPaths = endpoints.map(busLeafUrl)
  owned.use(
    await startCell(
      configFromEnv({
        CELL_ID: id,
        CELL_NAME: name,
        CELL_PROCESS: `${name}-1`,
        CELL_DATABASE_URL: await migratedDatabase(`cell_${name}`, 'cells', services),
        CELL_SECRET_KEY: randomBytes(32).toString('hex'),
        CELL_NATS_URL: nats.url,
        CELL_NATS_CREDENTIALS_FILE: own,
        CELL_UPLINK_URL: leafPaths.join(','),
        CELL_UPLINK_PORT: String(nats.leafPort),
        CELL_LOG_LEVEL: 'error',
      }),
    ),
  )
  const running = owned.move()
  return {
    id,
    busUrl: nats.url,
    accountSeed: seed,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}
