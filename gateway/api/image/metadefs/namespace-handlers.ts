import type { NewMetadefNamespace, operations } from '#openapi/image.gen.ts'
import {
  createNamespace,
  type NamespaceFields,
  removeNamespace,
  replaceNamespace,
} from '../../../app/images/metadefs/change-namespaces.ts'
import {
  listNamespaces,
  resourceTypes,
  visibleNamespace,
} from '../../../app/images/metadefs/list-namespaces.ts'
import { HttpRefusal } from '../../../http/http-refusal.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import {
  namespaceHeadView,
  namespaceListView,
  namespacePath,
  namespaceView,
  partView,
} from '../../../views/image/metadef.ts'
import { metadefSchemaNamed } from '../../../views/image/metadef-schemas.ts'
import { associationFields, objectFields, propertyFields } from './part-fields.ts'

type List = operations['listMetadefNamespaces']
type Create = operations['createMetadefNamespace']
type Show = operations['showMetadefNamespace']
type Replace = operations['replaceMetadefNamespace']
type Delete = operations['deleteMetadefNamespace']
type Types = operations['listMetadefResourceTypes']
type Schema = operations['showMetadefSchema']

async function list({ app, context, query, raw }: Call<List>): Promise<Answer<List>> {
  const { resource_types: types, ...others } = query
  const asked = { ...others, resourceTypes: types?.split(',').map((name) => name.trim()) }
  const page = await listNamespaces(app.images, context, asked)
  return { body: namespaceListView(page, raw.search) }
}

async function create({ app, context, body, links }: Call<Create>): Promise<Answer<Create>> {
  const made = await createNamespace(app.images, context, fieldsOf(body), {
    resourceTypes: (body.resource_type_associations ?? []).map(associationFields),
    properties: Object.entries(body.properties ?? {}).map(([name, it]) => propertyFields(name, it)),
    objects: (body.objects ?? []).map(objectFields),
    tags: (body.tags ?? []).map(({ name }) => ({ name })),
  })
  const headers = { Location: links.to(`/image${namespacePath(made.name)}`) }
  return { body: namespaceView(made), headers }
}

async function show({ app, context, params, query }: Call<Show>): Promise<Answer<Show>> {
  const found = await visibleNamespace(app.images, context, params.namespace)
  return { body: namespaceView(found, query.resource_type) }
}

async function replace({ app, context, params, body }: Call<Replace>): Promise<Answer<Replace>> {
  const after = await replaceNamespace(app.images, context, params.namespace, fieldsOf(body))
  return { body: namespaceHeadView({ ...after, resourceTypes: [] }) }
}

async function remove({ app, context, params }: Call<Delete>): Promise<Answer<Delete>> {
  await removeNamespace(app.images, context, params.namespace)
  return {}
}

async function listTypes({ app, context }: Call<Types>): Promise<Answer<Types>> {
  return { body: { resource_types: (await resourceTypes(app.images, context)).map(partView) } }
}

async function showSchema({ params }: Call<Schema>): Promise<Answer<Schema>> {
  const body = metadefSchemaNamed(params.metadef_schema)
  if (body === undefined)
    throw new HttpRefusal(404, `There is no schema metadefs/${params.metadef_schema}.`)
  return { body }
}

function fieldsOf(body: Omit<NewMetadefNamespace, keyof Parts>): NamespaceFields {
  return {
    name: body.namespace,
    displayName: body.display_name ?? null,
    description: body.description ?? null,
    visibility: body.visibility ?? 'private',
    isProtected: body.protected ?? false,
    owner: body.owner,
  }
}

type Parts = Pick<
  NewMetadefNamespace,
  'resource_type_associations' | 'properties' | 'objects' | 'tags'
>

/** What openapi/image/metadefs.yaml describes of namespaces, and the schemas of all. */
export const metadefNamespaceHandlers = {
  listMetadefNamespaces: list,
  createMetadefNamespace: create,
  showMetadefNamespace: show,
  replaceMetadefNamespace: replace,
  deleteMetadefNamespace: remove,
  listMetadefResourceTypes: listTypes,
  showMetadefSchema: showSchema,
}
