import createClient from 'openapi-fetch'
// Made from a served document, and laid beside this file, by generated-client.test.ts.
import type { paths } from './schema.ts'

// A server's life, through a client that knows nothing but the document. Fails with the first surprise.

const [endpoint = '', token = '', microversion = '', imageRef = '', flavorRef = '', network = ''] =
  process.argv.slice(2)

const client = createClient<paths>({
  baseUrl: `${endpoint}/compute`,
  headers: { 'X-Auth-Token': token, 'OpenStack-API-Version': `compute ${microversion}` },
})

const created = await client.POST('/v2.1/servers', {
  body: { server: { name: 'generated', imageRef, flavorRef, networks: [{ uuid: network }] } },
})
const id = created.data?.server?.id
if (id === undefined) throw new Error(`boot: ${JSON.stringify(created.error)}`)
const path = { server_id: id }

const listed = await client.GET('/v2.1/servers', { params: { query: { name: 'generated' } } })
if (listed.data?.servers.some((server) => server.id === id) !== true) throw new Error('not listed')

await until('ACTIVE')
const rebooted = await client.POST('/v2.1/servers/{server_id}/action', {
  params: { path },
  body: { reboot: { type: 'HARD' } },
})
if (rebooted.response.status !== 202) throw new Error(`reboot: ${JSON.stringify(rebooted.error)}`)
await until('ACTIVE')

const said = await client.POST('/v2.1/servers/{server_id}/action', {
  params: { path },
  body: { 'os-getConsoleOutput': { length: 5 } },
})
if (said.data === undefined || !('output' in said.data)) throw new Error('no console output')

const deleted = await client.DELETE('/v2.1/servers/{server_id}', { params: { path } })
if (deleted.response.status !== 204) throw new Error(`delete: ${JSON.stringify(deleted.error)}`)
await until(undefined)
process.stdout.write(`${id}\n`)

/** Resolves once the server has this status; undefined: once it is gone. */
async function until(status: string | undefined): Promise<void> {
  for (let tries = 0; tries < 300; tries += 1) {
    const { data, response } = await client.GET('/v2.1/servers/{server_id}', { params: { path } })
    if (status === undefined ? response.status === 404 : data?.server.status === status) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error(`the server did not become ${status ?? 'absent'}`)
}
