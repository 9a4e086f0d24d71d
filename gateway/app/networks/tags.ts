import { Failure } from '#common/errors.ts'
import { type DescribedCollection, lockTags, writeTags } from '../../db/described-rows.ts'
import type { Described } from '../../db/network.ts'
import type { Requester } from '../requester.ts'
import { changeablePort } from './change-ports.ts'
import { ownFloatingIp } from './floating-ips.ts'
import type { Networks } from './list-networks.ts'
import { ownRouter } from './routers/find-routers.ts'
import { ownSubnetPool, visibleSubnetPool } from './subnet-pools.ts'
import {
  ownNetwork,
  ownSecurityGroup,
  ownSubnet,
  visibleNetwork,
  visiblePort,
  visibleSubnet,
} from './visible.ts'

/** An object by the path of its collection and its id. */
export interface TaggedObject {
  readonly collection: string
  readonly id: string
}

type Find = (
  networks: Networks,
  requester: Requester,
  id: string,
) => Promise<Pick<Described, 'tags'>>
interface Finders {
  readonly visible: Find
  readonly own: Find
}

const FINDERS: Readonly<Record<DescribedCollection, Finders>> = {
  networks: { visible: visibleNetwork, own: ownNetwork },
  subnets: { visible: visibleSubnet, own: ownSubnet },
  ports: { visible: visiblePort, own: changeablePort },
  'security-groups': { visible: ownSecurityGroup, own: ownSecurityGroup },
  routers: { visible: ownRouter, own: ownRouter },
  floatingips: { visible: ownFloatingIp, own: ownFloatingIp },
  subnetpools: { visible: visibleSubnetPool, own: ownSubnetPool },
}

/** Neutron's `MAX_TAG_LEN`. */
const TAG_LENGTH_MAX = 60
const TAGS_MAX = 50

/** Throws `not-found` for an object that the requester does not see. */
export async function tagsOf(
  networks: Networks,
  requester: Requester,
  { collection, id }: TaggedObject,
): Promise<readonly string[]> {
  return (await FINDERS[taggedCollection(collection)].visible(networks, requester, id)).tags
}

/** Throws `not-found` for an object without the tag. */
export async function checkTag(
  networks: Networks,
  requester: Requester,
  object: TaggedObject,
  tag: string,
): Promise<void> {
  if (!(await tagsOf(networks, requester, object)).includes(tag)) throw noSuchTag(tag)
}

/** Afterwards the object has exactly these tags, each once; returns them. */
export async function replaceTags(
  networks: Networks,
  requester: Requester,
  object: TaggedObject,
  asked: readonly string[],
): Promise<readonly string[]> {
  const tags = [...new Set(asked)]
  await changeTags(networks, requester, object, () => tags)
  return tags
}

/** Afterwards the object has the tag too. Throws `invalid` for text that is not a tag and for one tag too many. */
export async function addTag(
  networks: Networks,
  requester: Requester,
  object: TaggedObject,
  tag: string,
): Promise<void> {
  if (tag.length > TAG_LENGTH_MAX)
    throw new Failure('invalid', `A tag has at most ${TAG_LENGTH_MAX} characters.`)
  await changeTags(networks, requester, object, (tags) => {
    if (!tags.includes(tag) && tags.length >= TAGS_MAX)
      throw new Failure('invalid', `An object has at most ${TAGS_MAX} tags.`)
    return [...new Set([...tags, tag])]
  })
}

/** Afterwards the object does not have the tag. Throws `not-found` for one without it. */
export async function removeTag(
  networks: Networks,
  requester: Requester,
  object: TaggedObject,
  tag: string,
): Promise<void> {
  await changeTags(networks, requester, object, (tags) => {
    if (!tags.includes(tag)) throw noSuchTag(tag)
    return tags.filter((each) => each !== tag)
  })
}

async function changeTags(
  networks: Networks,
  requester: Requester,
  { collection, id }: TaggedObject,
  change: (tags: readonly string[]) => readonly string[],
): Promise<void> {
  const tagged = taggedCollection(collection)
  await FINDERS[tagged].own(networks, requester, id)
  await networks.db.transaction(async (tx) => {
    const before = await lockTags(tx, tagged, id)
    if (before === undefined)
      throw new Failure('not-found', `${id} of ${collection} could not be found.`)
    const tags = change(before)
    await writeTags(tx, tagged, { id, tags, now: new Date(networks.clock.now()) })
  })
}

function taggedCollection(name: string): DescribedCollection {
  if (Object.hasOwn(FINDERS, name)) return name as DescribedCollection
  throw new Failure('not-found', `Objects of ${name} have no tags.`)
}

function noSuchTag(tag: string): Failure {
  return new Failure('not-found', `Tag ${tag} could not be found.`)
}
