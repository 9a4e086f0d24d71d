import { hash } from 'node:crypto'
import type { Executor } from '#common/db/database.ts'
import type { Cell } from '../../cells/cell.ts'
import { type HostRecord, listHosts } from '../../db/host-list.ts'

/** The one service that hosts have, by the name clients know. */
export const COMPUTE_BINARY = 'nova-compute'

export interface ServiceQuery {
  readonly host?: string
  readonly binary?: string
}

/** Each host has one service. */
export async function listServices(
  db: Executor,
  { host, binary }: ServiceQuery,
): Promise<readonly HostRecord[]> {
  if (binary !== undefined && binary !== COMPUTE_BINARY) return []
  const hosts = await listHosts(db)
  return host === undefined ? hosts : hosts.filter(({ view }) => view.name === host)
}

const CELL_BINARIES = ['nova-conductor', 'nova-scheduler'] as const
/** Numbers from here on are no host's. */
const NUMBERS_FROM = 2 ** 30
const NUMBER_DIGITS = 7

/** What places servers in a cell and carries out what is done with them: one each, by the name of the cell. */
export interface CellService {
  readonly cell: Cell
  readonly binary: (typeof CELL_BINARIES)[number]
  /** For clients below microversion 2.53; the other for those from it on. */
  readonly number: number
  readonly uuid: string
}

/** Those that fit, by the names of their cells. A cell that was given up has none. */
export function listCellServices(
  cells: readonly Cell[],
  { host, binary }: ServiceQuery,
): readonly CellService[] {
  return cells
    .filter((cell) => !cell.isLost && (host === undefined || host === cell.name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((cell) => CELL_BINARIES.map((each) => cellService(cell, each)))
    .filter((service) => binary === undefined || binary === service.binary)
}

/** The ids are made of what the service is, so that every gateway tells the same and none is kept. */
function cellService(cell: Cell, binary: CellService['binary']): CellService {
  const digest = hash('sha256', `${binary} of ${cell.id}`)
  const uuid = digest.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5')
  const number = NUMBERS_FROM + Number.parseInt(digest.slice(0, NUMBER_DIGITS), 16)
  return { cell, binary, number, uuid }
}
