import type { NewMetadefAssociation, NewMetadefObject } from '#openapi/image.gen.ts'
import type { PartFields, PropertySchema } from '../../../app/images/metadefs/namespace.ts'

/** How parts of a namespace are read, by themselves and with a new namespace. */

export function associationFields(body: NewMetadefAssociation): PartFields<'resourceTypes'> {
  const { name, prefix, properties_target: propertiesTarget } = body
  return {
    name,
    ...(prefix !== undefined && { prefix }),
    ...(propertiesTarget !== undefined && { propertiesTarget }),
  }
}

export function objectFields(body: NewMetadefObject): PartFields<'objects'> {
  const { name, description, required, properties } = body
  return {
    name,
    ...(description !== undefined && { description }),
    ...(required !== undefined && { required }),
    ...(properties !== undefined && { properties: properties as Record<string, PropertySchema> }),
  }
}

export function propertyFields(name: string, schema: object): PartFields<'properties'> {
  return { name, schema: schema as PropertySchema }
}
