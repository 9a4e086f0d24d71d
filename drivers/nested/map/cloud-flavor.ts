import { type Static, Type } from 'typebox'

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
})
export type CloudFlavor = Static<typeof CloudFlavor>
