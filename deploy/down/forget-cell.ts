import { rmSync } from 'node:fs'
import type { Layout } from '../deployment/layout.ts'
import { lockDeployment } from '../deployment/lock.ts'
import { type CellRecord, type DeploymentState, loadState, saveState } from '../deployment/state.ts'
import { stopHosts } from '../hypervisors/stop-hosts.ts'
import { loginFiles } from '../nested/cloud-login.ts'
import { stopProcess } from '../process/stop-process.ts'

/**
 * Afterwards nothing of a cell that has left runs here, the login of its cloud is gone, and the next `up` does not start
 * it; its database and its hosts' folders are kept. A cell that is not of this deployment is nothing to do. Throws
 * `conflict` while the deployment is brought up or down.
 */
export async function forgetCell(layout: Layout, id: string): Promise<void> {
  const known = loadState(layout)?.cells.some((cell) => cell.id === id) ?? false
  if (!known) return
  using _lock = lockDeployment(layout)
  const state = loadState(layout)
  const cell = state?.cells.find((each) => each.id === id)
  if (state === undefined || cell === undefined) return
  const without = await stopCell(state, cell)
  await stopHosts(layout, { ...state, cells: [cell] })
  for (const file of loginFiles(layout, cell.name)) rmSync(file, { force: true })
  saveState(layout, without)
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
