import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { targetFile } from '#common/metrics/target-file.ts'
import type { Layout } from '../deployment/layout.ts'
import { lockDeployment } from '../deployment/lock.ts'
import { type CellRecord, type DeploymentState, loadState, saveState } from '../deployment/state.ts'
import { stopHosts } from '../hypervisors/stop-hosts.ts'
import { dropDatabaseUser } from '../mariadb/database-user.ts'
import { loginFiles } from '../nested/cloud-login.ts'
import { stopCellNetwork } from '../ovn/deployment-network.ts'
import { stopProcess } from '../process/stop-process.ts'
import { cellSecrets } from '../up/prepare-bus.ts'
import { cellDatabase, databaseFiles } from '../up/prepare-databases.ts'
import { databaseServersOf, writerOf } from '../up/services.ts'

/**
 * Afterwards nothing of a cell that has left runs here or is kept, so that another may have its name: no credentials, login,
 * database or folder of a host. One that was forgotten unasked keeps its hosts' disks. A cell that is not of this deployment is nothing to do. Throws
 * `conflict` while the deployment is brought up or down.
 */
export async function forgetCell(
  layout: Layout,
  id: string,
  { keepsDisks = false }: { readonly keepsDisks?: boolean } = {},
): Promise<void> {
  await takeOut(layout, id, async (cell) => {
    const databases = databaseServersOf(layout, loadState(layout) ?? {})
    if (databases !== undefined)
      await dropDatabaseUser(
        await writerOf(databases),
        cellDatabase(cell.name),
        databases.loginsFrom,
      )
    for (const file of [
      ...loginFiles(layout, cell.name),
      ...cellSecrets(layout, cell),
      ...databaseFiles(layout, cell.name),
    ])
      rmSync(file, { force: true })
    // The host of a cell that is another cloud keeps no disk here.
    if (!keepsDisks || cell.cloud !== undefined)
      for (const { name } of cell.hosts)
        rmSync(join(layout.hosts, name), { recursive: true, force: true })
  })
}

/**
 * Afterwards nothing of a cell that was declared lost runs here, and `./weir up` does not start it; its database and disks
 * are kept. A cell that is not of this deployment is nothing to do. Throws `conflict` while the deployment is brought up
 * or down.
 */
export async function retireCell(layout: Layout, id: string): Promise<void> {
  await takeOut(layout, id, () => Promise.resolve())
}

/** The deployment is without the cell once `clean` has returned: until then all of this may be repeated. */
async function takeOut(
  layout: Layout,
  id: string,
  clean: (cell: CellRecord) => Promise<void>,
): Promise<void> {
  const known = loadState(layout)?.cells.some((cell) => cell.id === id) ?? false
  if (!known) return
  using _lock = lockDeployment(layout)
  const state = loadState(layout)
  const cell = state?.cells.find((each) => each.id === id)
  if (state === undefined || cell === undefined) return
  const without = await stopCell(state, cell)
  await stopHosts(layout, { ...state, cells: [cell] })
  await stopCellNetwork(layout, cell.name)
  await clean(cell)
  for (const program of targetsOf(cell))
    rmSync(targetFile(layout.targets, program), { force: true })
  saveState(layout, without)
}

/** Its programs, as they name themselves to monitoring. */
function targetsOf({ name: cell, hosts }: CellRecord) {
  const computes = hosts.map(({ name: process }) => ({ program: 'compute', process }))
  return [{ program: 'cell', process: `cell-${cell}` }, ...computes]
}

/** Afterwards no program of the cell runs. Returns the deployment without the cell and its programs. */
export async function stopCell(state: DeploymentState, cell: CellRecord): Promise<DeploymentState> {
  const programs = new Set([
    `cell-${cell.name}`,
    ...cell.hosts.map(({ name }) => `compute-${name}`),
  ])
  const processes = Object.entries(state.processes)
  const ofCell = processes.filter(([name]) => programs.has(name))
  await Promise.all(ofCell.map(([, identity]) => stopProcess(identity)))
  return {
    ...state,
    cells: state.cells.filter(({ id }) => id !== cell.id),
    processes: Object.fromEntries(processes.filter(([name]) => !programs.has(name))),
  }
}
