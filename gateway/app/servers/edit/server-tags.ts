import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { Requester } from '../../requester.ts'
import { refuseUnbuilt } from '../acts/refuse-action.ts'
import { showServer } from '../list/show-server.ts'
import { type EditDeps, editServer } from './update-server.ts'

const TAG_LENGTH_MAX = 60
/** Nova's `MAX_TAG_COUNT`. */
const TAGS_MAX = 50

/** Throws `not-found` for a server without the tag. */
export async function checkTag(
  db: Executor,
  requester: Requester,
  id: string,
  tag: string,
): Promise<void> {
  refuseWithout((await showServer(db, requester, id)).tags, id, tag)
}

/**
 * Afterwards the server has exactly these tags, each once; returns them. Throws `not-found`, and `conflict` for a
 * server that is not built. A lock does not hold tags, as in Nova.
 */
export async function replaceTags(
  deps: EditDeps,
  requester: Requester,
  id: string,
  asked: readonly string[],
): Promise<readonly string[]> {
  const tags = [...new Set(asked)]
  await editServer(deps, requester, id, (server) => {
    refuseUnbuilt(server, 'update tags')
    return { tags }
  })
  return tags
}

/** Afterwards the server has none. Throws as `replaceTags`. */
export async function deleteTags(deps: EditDeps, requester: Requester, id: string): Promise<void> {
  await editServer(deps, requester, id, (server) => {
    refuseUnbuilt(server, 'delete tags')
    return server.tags.length === 0 ? undefined : { tags: [] }
  })
}

/**
 * Afterwards the server has the tag; false when it had it before. Throws `invalid` for text that is not a tag and for
 * one tag too many, otherwise as `replaceTags`.
 */
export async function addTag(
  deps: EditDeps,
  requester: Requester,
  id: string,
  tag: string,
): Promise<boolean> {
  const change = await editServer(deps, requester, id, (server) => {
    refuseUnbuilt(server, 'update tag')
    refuseMalformed(tag)
    if (server.tags.includes(tag)) return undefined
    if (server.tags.length >= TAGS_MAX)
      throw new Failure('invalid', `The number of tags exceeded the per-server limit ${TAGS_MAX}`)
    return { tags: [...server.tags, tag] }
  })
  return change !== undefined
}

/** Afterwards the server does not have the tag. Throws `not-found` when it never had, else as `replaceTags`. */
export async function deleteTag(
  deps: EditDeps,
  requester: Requester,
  id: string,
  tag: string,
): Promise<void> {
  await editServer(deps, requester, id, (server) => {
    refuseUnbuilt(server, 'delete tag')
    refuseWithout(server.tags, id, tag)
    return { tags: server.tags.filter((each) => each !== tag) }
  })
}

function refuseWithout(tags: readonly string[], id: string, tag: string): void {
  if (!tags.includes(tag)) throw new Failure('not-found', `Server ${id} has no tag '${tag}'`)
}

/** The document does not check tags in paths. */
function refuseMalformed(tag: string): void {
  if (/[,/]/.test(tag))
    throw new Failure('invalid', `Tag '${tag}' is invalid. It must not contain '/' or ','.`)
  if (tag.length === 0 || tag.length > TAG_LENGTH_MAX)
    throw new Failure(
      'invalid',
      `Tag '${tag}' is invalid. It must have 1 to ${TAG_LENGTH_MAX} characters.`,
    )
}
