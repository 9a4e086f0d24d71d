import { Database } from '#common/db/database.ts'
import { waitFor } from '#common/wait-for.ts'
import { addFailureMessage } from '#gateway/app/volumes/messages.ts'
import type { Cloud } from '#test/env/cloud.ts'
import { storesReported } from '#test/env/stores-reported.ts'
import { type Identified, type Ids, made, NAMED } from './made.ts'
import { NOBODY } from './walked.ts'

/** The first with all of them. */
const VERSION = '3.62'

/** A type that the project was given and that is its default, a volume of it with a snapshot, one that is offered, and a message. */
export async function volumeTargets(cloud: Cloud, projectId: string): Promise<Ids> {
  const admin = cloud.as('admin')
  await storesReported(cloud)
  const root = '/volume/v3'
  const volume_type = {
    name: NAMED,
    extra_specs: { [NAMED]: NAMED },
    'os-volume-type-access:is_public': false,
  }
  const type = await made<Identified>(admin, 'POST', `${root}/types`, { volume_type }, VERSION)
  const access = { addProjectAccess: { project: projectId } }
  await made(admin, 'POST', `${root}/types/${type.id}/action`, access, VERSION)
  const default_type = { volume_type: type.id }
  await made(admin, 'PUT', `${root}/default-types/${projectId}`, { default_type }, VERSION)
  await using db = new Database({ url: cloud.foundation.databaseUrl, connectionsMax: 1 })
  const failed = { projectId, requestId: NAMED, resourceId: NOBODY }
  const message = await addFailureMessage(db, 'placing', failed)
  const volume = { size: 1, volume_type: type.id, metadata: { [NAMED]: NAMED } }
  const own = (path: string, body: object) =>
    made<Identified>(cloud.as('demo'), 'POST', `${root}/${path}`, body, VERSION)
  const { id } = await own('volumes', { volume })
  const { id: offered } = await own('volumes', { volume })
  for (const each of [id, offered]) await untilAvailable(cloud, 'volume', each)
  const kept = await own('snapshots', { snapshot: { volume_id: id, metadata: { [NAMED]: NAMED } } })
  await untilAvailable(cloud, 'snapshot', kept.id)
  const transfer = await own('volume-transfers', { transfer: { volume_id: offered, name: NAMED } })
  return {
    volume_id: id,
    offered_volume_id: offered,
    transfer_id: transfer.id,
    snapshot_id: kept.id,
    type_id: type.id,
    message_id: message.id,
    project_id: projectId,
    quota_class: 'default',
    key: NAMED,
    alias: 'os-availability-zone',
  }
}

async function untilAvailable(cloud: Cloud, kind: string, id: string): Promise<void> {
  type Shown = Readonly<Record<string, { readonly status: string }>>
  await waitFor(
    `${kind} ${id} is available`,
    async () => {
      const { body } = await cloud.as('demo').get<Shown>(`/volume/v3/${kind}s/${id}`)
      return body[kind]?.status === 'available'
    },
    30_000,
  )
}
