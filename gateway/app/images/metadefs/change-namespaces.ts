import { Failure } from '#common/errors.ts'
import {
  countNamespaces,
  deleteNamespace,
  insertNamespace,
  lockNamespace,
  updateNamespace,
} from '../../../db/metadefs.ts'
import type { Requester } from '../../requester.ts'
import type { Images } from '../images.ts'
import { BUILT_IN } from './built-in.ts'
import { isVisible, noSuchNamespace } from './list-namespaces.ts'
import {
  type Namespace,
  newPart,
  type PartFields,
  type PartKind,
  refuseRepeated,
} from './namespace.ts'

type Deps = Pick<Images, 'db' | 'clock'>

const NAMESPACES_MAX = 500
/** Of all parts of one, in characters of JSON: it is read and written whole. */
const PARTS_MAX = 262_144

/** The fields of a namespace without its parts. */
export type NamespaceFields = Pick<
  Namespace,
  'name' | 'displayName' | 'description' | 'visibility' | 'isProtected'
> & { readonly owner: string | undefined }

export type NewParts = { readonly [Kind in PartKind]: readonly PartFields<Kind>[] }

/** Throws `conflict` for a name that is taken, and for a part that is given twice. */
export async function createNamespace(
  { db, clock }: Deps,
  { projectId }: Requester,
  fields: NamespaceFields,
  parts: NewParts,
): Promise<Namespace> {
  const now = new Date(clock.now())
  const namespace: Namespace = {
    ...fields,
    owner: fields.owner ?? projectId ?? '',
    resourceTypes: parts.resourceTypes.map((it) => newPart(it, now)),
    properties: parts.properties.map((it) => newPart(it, now)),
    objects: parts.objects.map((it) => newPart(it, now)),
    tags: parts.tags.map((it) => newPart(it, now)),
    createdAt: now,
    updatedAt: now,
  }
  refuseBuiltInName(namespace.name)
  refuseRepeated(namespace)
  refuseTooLarge(namespace)
  await db.transaction(async (tx) => {
    if ((await countNamespaces(tx)) >= NAMESPACES_MAX)
      throw new Failure('over-quota', `There are at most ${NAMESPACES_MAX} namespaces.`)
    await insertNamespace(tx, namespace)
  })
  return namespace
}

/**
 * Afterwards the namespace has these fields, and no others; its parts stay. Throws `conflict` for a new name that is
 * taken.
 */
export async function replaceNamespace(
  deps: Deps,
  requester: Requester,
  name: string,
  fields: NamespaceFields,
): Promise<Namespace> {
  const owner = fields.owner ?? requester.projectId ?? ''
  if (fields.name !== name) refuseBuiltInName(fields.name)
  return changeNamespace(deps, requester, name, (before) => ({ ...before, ...fields, owner }))
}

/** Afterwards it is gone with its parts; throws `forbidden` while it is protected. */
export async function removeNamespace(
  { db }: Deps,
  requester: Requester,
  name: string,
): Promise<void> {
  refuseBuiltIn(name)
  await db.transaction(async (tx) => {
    const found = await lockNamespace(tx, name)
    if (found === undefined || !isVisible(found, requester)) throw noSuchNamespace(name)
    refuseProtected(found)
    await deleteNamespace(tx, name)
  })
}

/**
 * Afterwards the namespace is as `next` returns it. Throws `not-found`, `forbidden` for a namespace of the service,
 * `over-quota`.
 */
export async function changeNamespace(
  { db, clock }: Deps,
  requester: Requester,
  name: string,
  next: (before: Namespace) => Namespace,
): Promise<Namespace> {
  refuseBuiltIn(name)
  return db.transaction(async (tx) => {
    const before = await lockNamespace(tx, name)
    if (before === undefined || !isVisible(before, requester)) throw noSuchNamespace(name)
    const after = { ...next(before), updatedAt: new Date(clock.now()) }
    refuseTooLarge(after)
    await updateNamespace(tx, name, after)
    return after
  })
}

/** Throws `forbidden`, as Glance does, for what nothing may be deleted of. */
export function refuseProtected({ name, isProtected }: Namespace): void {
  if (isProtected)
    throw new Failure(
      'forbidden',
      `The namespace ${name} is protected: the namespace and its content cannot be deleted.`,
    )
}

function refuseBuiltIn(name: string): void {
  if (isBuiltIn(name))
    throw new Failure(
      'forbidden',
      `The namespace ${name} belongs to the service: it lists the definitions that have an effect here, and cannot be changed or deleted.`,
    )
}

function refuseBuiltInName(name: string): void {
  if (isBuiltIn(name)) throw new Failure('conflict', `There is already a namespace ${name}.`)
}

function isBuiltIn(name: string): boolean {
  return BUILT_IN.some((it) => it.name === name)
}

function refuseTooLarge({ name, resourceTypes, properties, objects, tags }: Namespace): void {
  if (JSON.stringify([resourceTypes, properties, objects, tags]).length > PARTS_MAX)
    throw new Failure(
      'over-quota',
      `The namespace ${name} would be larger than ${PARTS_MAX} characters.`,
    )
}
