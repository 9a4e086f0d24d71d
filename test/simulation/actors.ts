import type { Fault } from '#drivers/fake/faults.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { act, askForServer, SERVERS } from '#test/env/api/servers.ts'
import type { Cloud } from '#test/env/cloud.ts'
import type { SeededRandom } from '#test/env/random.ts'

/** What the users of the simulation asked for, and what they were told. */
export interface Ledger {
  readonly reserved: Set<string>
  readonly deleted: Set<string>
  readonly statuses: Map<number, number>
}

/** Answers that a cloud in trouble may give; anything else is a bug. */
const EXPECTED: ReadonlySet<number> = new Set([202, 204, 403, 404, 409, 503])

const ACTIONS: readonly object[] = [
  { 'os-stop': null },
  { 'os-start': null },
  { pause: null },
  { unpause: null },
  { reboot: { type: 'HARD' } },
]

const FAULTS: readonly Fault[] = [
  { method: 'spawn', times: 2, effect: { do: 'fail', kind: 'internal' } },
  { method: 'spawn', times: 1, effect: { do: 'fail', kind: 'unavailable' } },
  { method: 'destroy', times: 1, effect: { do: 'fail', kind: 'unavailable' } },
  { method: 'any', times: 5, effect: { do: 'slow', ms: 300 } },
  { method: 'spawn', times: 1, effect: { do: 'hang' } },
]

/** One thing a user does: mostly boots, less deletes and power actions. */
export async function userStep(
  cloud: Cloud,
  client: ApiClient,
  random: SeededRandom,
  ledger: Ledger,
): Promise<void> {
  const living = [...ledger.reserved].filter((id) => !ledger.deleted.has(id))
  const dice = random.next()
  if (living.length === 0 || dice < 0.45) return boot(cloud, client, ledger)
  const id = random.pick(living)
  if (dice < 0.75) {
    const { status } = await client.delete(`${SERVERS}/${id}`)
    note(ledger, status)
    if (status === 204) ledger.deleted.add(id)
    return
  }
  note(ledger, (await act(client, id, random.pick(ACTIONS))).status)
}

async function boot(cloud: Cloud, client: ApiClient, ledger: Ledger): Promise<void> {
  const { status, body } = await askForServer(cloud, client, { name: 'sim' })
  note(ledger, status)
  if (status === 202) ledger.reserved.add(body.server.id)
}

function note({ statuses }: Ledger, status: number): void {
  if (!EXPECTED.has(status)) throw new Error(`A request was answered ${status}`)
  statuses.set(status, (statuses.get(status) ?? 0) + 1)
}

/** One thing that goes wrong, or that is put right again. */
export async function troubleStep(cloud: Cloud, random: SeededRandom): Promise<void> {
  const host = random.pick(cloud.hosts)
  const process = random.pick(cloud.cells.flatMap(({ processes }) => processes))
  const dice = random.next()
  if (dice < 0.4) host.fail(random.pick(FAULTS))
  else if (dice < 0.6) host.fail()
  else if (dice < 0.7) void process.wire('CELL_NATS_URL').loseNext('"ok":true')
  else if (dice < 0.8) host.process.freeze()
  else if (dice < 0.9) host.process.thaw()
  else if (process.isRunning) await process.kill()
  else await process.start()
}

/** Afterwards nothing is wrong any more. */
export async function endTrouble(cloud: Cloud): Promise<void> {
  for (const host of cloud.hosts) {
    host.fail()
    host.process.thaw()
  }
  for (const { processes } of cloud.cells)
    for (const process of processes) if (!process.isRunning) await process.start()
}
