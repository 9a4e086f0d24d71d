import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { Deployment } from '../deployment/deployment.ts'
import type { SignedIn } from '../users/account.ts'
import { readApi } from './read-api.ts'
import { readCellDatabase, readGatewayDatabase, reading } from './read-databases.ts'
import type { ApiState, Guest, Snapshot } from './snapshot.ts'

const NO_API: ApiState = {
  servers: [],
  things: {
    port: [],
    network: [],
    subnet: [],
    'security-group': [],
    'server-group': [],
    keypair: [],
    image: [],
    user: [],
  },
}

/** What all parts say, one after the other: it is one moment's only where nothing goes on. */
export async function takeSnapshot(
  deployment: Deployment,
  who: { readonly admin: SignedIn; readonly users: readonly SignedIn[] },
): Promise<Snapshot> {
  const [gateway] = deployment.gateways
  const api = await readApi(gateway!.port, who.admin, who.users)
  return { ...(await takeInside(deployment)), api }
}

/** The part of a snapshot that needs no gateway. */
export async function takeInside(deployment: Deployment): Promise<Snapshot> {
  const { rootUrl, databases, guestFiles } = deployment
  const cells = await Promise.all(
    databases.cells.map(async ({ id, name, database }) => ({
      id,
      name,
      ...(await readCellDatabase(rootUrl(database))),
      guests: Object.fromEntries(
        Object.entries(guestFiles)
          .filter(([host]) => host.startsWith(`${name}-`))
          .map(([host, file]) => [host, readGuests(file)]),
      ),
    })),
  )
  return { api: NO_API, gateway: await readGatewayDatabase(rootUrl(databases.gateway)), cells }
}

/** Records that are written after the changes they describe: audit rows, and entries not yet moved to their table. */
export async function readTrailing({
  rootUrl,
  databases,
  auditDirectory,
}: Deployment): Promise<{ readonly audit: number; readonly waiting: number }> {
  const files = existsSync(auditDirectory) ? readdirSync(auditDirectory).length : 0
  return reading(rootUrl(databases.gateway), async (rows) => {
    const [row] = await rows<{ readonly audit: number; readonly unnumbered: number }>(
      'SELECT (SELECT COUNT(*) FROM audit_records) AS audit, (SELECT COUNT(*) FROM event_inbox) AS unnumbered',
    )
    return { audit: row!.audit, waiting: row!.unnumbered + files }
  })
}

/** The simulated host keeps a line per change: the last one about a guest says how it is. */
function readGuests(file: string): readonly Guest[] {
  const guests = new Map<string, Guest>()
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line === '') continue
    const change = JSON.parse(line) as { readonly put?: Guest; readonly gone?: string }
    if (change.put !== undefined) guests.set(change.put.id, change.put)
    else if (change.gone !== undefined) guests.delete(change.gone)
  }
  return [...guests.values()]
}
