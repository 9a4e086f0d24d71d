import type { WorkContext } from '#common/context.ts'
import { isFailure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import { findMapping } from '../../db/instance-mappings.ts'
import type { ComputeDeps } from '../compute.ts'
import { reachable } from '../hosts/host-state.ts'
import type { Requester } from '../requester.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'
import { findVisibleServer } from '../servers/list/show-server.ts'
import {
  type Audit,
  cellVerdict,
  claimVerdict,
  guestVerdict,
  mappingVerdict,
  ok,
  unknown,
  type Verdict,
} from './server-verdicts.ts'

export interface ServerFinding extends Verdict {
  readonly check: 'mapping' | 'cell' | 'claim' | 'guest'
}

export interface VerifiedServer {
  readonly serverId: string
  readonly findings: readonly ServerFinding[]
}

type VerifyDeps = Pick<ComputeDeps, 'db' | 'cells' | 'askCell' | 'askHost'>

/**
 * Whether all records of a server agree: the gateways' index, the cell it is mapped to, the cell's row, its
 * allocation, and the guest. Changes nothing. Throws `not-found`.
 */
export async function verifyServer(
  deps: VerifyDeps,
  requester: Requester & WorkContext,
  id: string,
): Promise<VerifiedServer> {
  const { db, cells } = deps
  const server = await findVisibleServer(db, requester, id, false)
  const nameOf = (cellId: string) => cells.cell(cellId)?.name ?? cellId
  const mapping = mappingVerdict(server, await findMapping(db, server.id), nameOf)
  const inCell = await inCellFindings(deps, requester, server)
  const isBusy = server.taskState !== null
  const settled = inCell.map(
    (each): ServerFinding =>
      isBusy && each.result === 'failed'
        ? { check: each.check, ...unknown(`${each.detail}, while it is being changed`) }
        : each,
  )
  return { serverId: server.id, findings: [{ check: 'mapping', ...mapping }, ...settled] }
}

async function inCellFindings(
  deps: VerifyDeps,
  work: WorkContext,
  server: ServerRecord,
): Promise<readonly ServerFinding[]> {
  if (server.cellId === null) return []
  const audit = await asked(async () => {
    const cell = reachable(deps.cells.cell(server.cellId ?? ''))
    return deps.askCell(cell, 'instance.audit', { serverId: server.id }, { work })
  })
  if ('result' in audit) return [{ check: 'cell', ...audit }]
  return [
    { check: 'cell', ...cellVerdict(server, audit) },
    { check: 'claim', ...claimVerdict(audit) },
    { check: 'guest', ...(await guestOf(deps, work, server, audit)) },
  ]
}

async function guestOf(
  { cells, askHost }: VerifyDeps,
  work: WorkContext,
  { cellId }: ServerRecord,
  { view }: Audit,
): Promise<Verdict> {
  if (view === null || view.hostId === null) return ok('on no host')
  const { hostId, serverId } = view
  const found = await asked(() => {
    const cell = reachable(cells.cell(cellId ?? ''))
    return askHost(cell, hostId as HostId, 'guest-state', { serverId }, work)
  })
  return 'result' in found ? found : guestVerdict(view, found.powerState)
}

/** The answer; where there is none, why. */
async function asked<Answer extends object>(ask: () => Promise<Answer>): Promise<Answer | Verdict> {
  try {
    return await ask()
  } catch (error) {
    if (isFailure(error)) return unknown(error.message)
    throw error
  }
}
