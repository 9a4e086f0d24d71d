import { type Static, Type } from 'typebox'
import { Texts } from '#openapi/wire/scalars.ts'

/** Of a flavor as the cloud shows it, what the driver reads. */
export const CloudFlavor = Type.Object({
  id: Type.String(),
  name: Type.String(),
  vcpus: Type.Number(),
  ram: Type.Number(),
  disk: Type.Number(),
  'OS-FLV-EXT-DATA:ephemeral': Type.Optional(Type.Number()),
  /** '' for none, before 2.75. */
  swap: Type.Union([Type.Number(), Type.Literal('')]),
  /** Since 2.61, to those who may see them. */
  extra_specs: Type.Optional(Texts),
})
export type CloudFlavor = Static<typeof CloudFlavor>
