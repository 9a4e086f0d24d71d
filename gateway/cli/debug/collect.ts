import { errorChain } from '#common/errors.ts'
import type { Session } from '../cloud/session.ts'
import { allHosts } from '../hosts/all-hosts.ts'
import type { BundleFile } from './bundle-file.ts'

/** Of what has no end, that many. */
const NEWEST = 1_000

/** All data of the API about the whole cloud, a file each. A request that fails becomes the reason why. */
export async function collectFromCloud(
  open: () => Promise<Session>,
): Promise<readonly BundleFile[]> {
  let session: Session
  try {
    session = await open()
  } catch (error) {
    return [{ name: 'cloud/error.txt', text: `${errorChain(error)}\n` }]
  }
  const { federation } = session
  const parts: Readonly<Record<string, () => Promise<unknown>>> = {
    versions: () => federation.ask('get', '/'),
    cells: () => federation.ask('get', '/v1/cells'),
    hosts: () => allHosts(session),
    events: () => federation.ask('get', '/v1/events', { query: { limit: NEWEST } }),
    operations: () => federation.ask('get', '/v1/operations', { query: { limit: NEWEST } }),
    audit: () => federation.ask('get', '/v1/audit', { query: { limit: NEWEST } }),
    drivers: () => federation.ask('get', '/v1/drivers'),
  }
  return Promise.all(
    Object.entries(parts).map(async ([name, read]) => {
      try {
        return { name: `cloud/${name}.json`, text: JSON.stringify(await read()) }
      } catch (error) {
        return { name: `cloud/${name}-error.txt`, text: `${errorChain(error)}\n` }
      }
    }),
  )
}
