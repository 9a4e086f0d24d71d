import { type Static, Type } from 'typebox'
import { Nullable, Uuid } from './scalars.ts'

/** Subjects below `cell.<cell>.host.<host>.`, beside those of consoles: a host that keeps no images answers `unsupported`. */
export const IMAGE_OPERATIONS = {
  'image-find': {
    ask: Type.Object({ imageId: Uuid, sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) }),
    /** Null where it has none. */
    answer: Type.Object({
      copy: Nullable(
        Type.Object({
          /** What its backend calls it; null where it is a file of the host. */
          name: Nullable(Type.String()),
          sizeBytes: Type.Integer({ minimum: 0 }),
        }),
      ),
    }),
  },
} as const
export type ImageOperation = keyof typeof IMAGE_OPERATIONS
export type WireImageCopy = NonNullable<
  Static<(typeof IMAGE_OPERATIONS)['image-find']['answer']>['copy']
>
