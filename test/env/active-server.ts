import type { BootWorld } from './boot-world.ts'
import type { ApiClient } from './compute-api.ts'

/** Boots a server of the user's and returns its id once it runs. */
export async function activeServer(
  world: BootWorld,
  user: ApiClient,
  change: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { status, body } = await user.call<{ readonly server: { readonly id: string } }>(
    'createServer',
    { body: world.body(change), version: '2.90' },
  )
  if (status !== 202) throw new Error(`${status}: ${JSON.stringify(body)}`)
  const { id } = body.server
  await world.until(id, ({ vmState, taskState }) => vmState === 'active' && taskState === null)
  return id
}
