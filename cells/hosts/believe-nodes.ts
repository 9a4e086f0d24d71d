import type { Conductor } from '../conductor/conductor.ts'
import { type Instance, instanceView } from '../conductor/instance.ts'
import { queueFeedRow } from '../db/feed.ts'
import { updateSeenInstance } from '../db/instances.ts'
import { allocationAt, allocationBound } from '../placement/choose-nodes.ts'
import { nodeWish } from '../placement/node-wish.ts'
import { resourcesOf } from '../placement/resources.ts'
import { settleNodes } from '../placement/settle-nodes.ts'

/**
 * Afterwards the server holds what it takes of the NUMA nodes on which its host says that its guest is, unless it has just
 * changed: so it does where it was built before its cell counted what nodes have, where its host had to decide, and where it
 * was adopted, from somebody who has bound it to nodes, whatever its flavor and image ask for.
 */
export async function believeNodes(
  { builds, db, log }: Pick<Conductor, 'builds' | 'db' | 'log'>,
  { instance, hostNodes }: { readonly instance: Instance; readonly hostNodes: readonly number[] },
): Promise<void> {
  const { id, placed } = instance
  const build = await builds.record(db, instance)
  if (build === undefined || placed === null) return
  const properties = instance.imageProperties ?? build.image.properties
  const flavor = instance.flavor ?? build.flavor
  const sized = { flavor, image: { ...build.image, properties } }
  const wish = nodeWish(sized)
  const numa =
    (wish === null ? undefined : allocationAt(wish, hostNodes)) ??
    allocationBound(resourcesOf(sized), hostNodes)
  const to = { ...instance, placed: { ...placed, numa }, version: instance.version + 1 }
  await db.transaction(async (tx) => {
    if (!(await updateSeenInstance(tx, instance, { to }))) return
    await settleNodes(tx, placed.hostId, id, numa)
    queueFeedRow(tx, [{ kind: 'instance', view: instanceView(to) }])
  })
  log.info({ server_id: id, host: placed.host, nodes: hostNodes.join(',') }, 'NUMA nodes settled')
}
