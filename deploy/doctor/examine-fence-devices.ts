import { findTriedFenceDevices } from '#cells/db/hosts.ts'
import { Database } from '#common/db/database.ts'
import { errorChain } from '#common/errors.ts'
import { cellDatabase } from '../up/prepare-databases.ts'
import type { Finding } from './finding.ts'

/** Whether the fence devices of this deployment's hosts could be used when their cells last tried. */
export async function examineFenceDevices(
  cells: readonly { readonly name: string }[],
  urlOf: (database: string) => string,
): Promise<Finding> {
  try {
    const tried = await Promise.all(cells.map(({ name }) => devicesIn(urlOf(cellDatabase(name)))))
    const devices = tried.flat()
    if (devices.length === 0)
      return {
        is: 'ok',
        what: 'no host has a fence device, so servers of hosts that fail wait for an operator',
      }
    const problems = devices.flatMap(({ host, device: { name, problem } }) =>
      problem === null ? [] : [`${host} by ${name}: ${problem}`],
    )
    if (problems.length === 0) return { is: 'ok', what: `fence devices work: ${devices.length}` }
    return { is: 'bad', what: `hosts that cannot be fenced: ${problems.join('; ')}` }
  } catch (error) {
    return {
      is: 'bad',
      what: `the fence devices of cells cannot be examined: ${errorChain(error)}`,
    }
  }
}

async function devicesIn(url: string) {
  await using db = new Database({ url, connectionsMax: 1 })
  return await findTriedFenceDevices(db)
}
