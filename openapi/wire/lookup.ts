import { type Static, Type } from 'typebox'
import { ImageFile } from './instance.ts'
import { Nullable, OneOf, Uuid } from './scalars.ts'
import { MOVE_BYTES_REQUEST_MAX, MoveBytes } from './volume-copy.ts'

const Count = Type.Integer({ minimum: 0 })

/** So many cells of a nested cloud fit into a message and a picture, and so many clouds that are in these. */
export const CELLS_BELOW_MAX = 200
export const CLOUDS_BELOW_MAX = 200
/** Through so many clouds below each other may cells be asked for. */
export const LEVELS_BELOW_MAX = 8

/** Of a nested cloud, a host that is a cloud itself. Its memory is null where it has never reported. */
const CloudBelow = Type.Object({
  id: Uuid,
  name: Type.String({ minLength: 1, maxLength: 255 }),
  state: OneOf(['up', 'cordoned', 'down']),
  servers: Count,
  memoryMb: Nullable(Count),
  memoryMbUsed: Count,
})

/** Of a nested cloud, one of its cells. Figures are null where it has never reported. */
const CellBelow = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 255 }),
  state: OneOf(['up', 'disabled', 'unreachable', 'lost']),
  servers: Nullable(Count),
  hosts: Nullable(Count),
  hostsUp: Nullable(Count),
  memoryMb: Nullable(Count),
  memoryMbUsed: Nullable(Count),
  clouds: Type.Array(CloudBelow, { maxItems: CLOUDS_BELOW_MAX }),
})
/** The cells of other clouds that a question came through. */
const Via = Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })

/**
 * Subjects below `cell.<cell>.host.<host>.`, beside those of consoles: facts that a host alone knows, asked for on
 * request. A host without the part that this needs answers `unsupported`.
 */
export const LOOKUP_OPERATIONS = {
  'image-find': {
    ask: Type.Object({ imageId: Uuid, sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) }),
    /** Null if it has none. */
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
  /** Has the host fetch the image for a boot to come. Asked again, it tells how far that has come; after `failed` it begins again. */
  'image-fetch': {
    ask: Type.Object({ image: ImageFile }),
    answer: Type.Object({ state: OneOf(['there', 'fetching', 'failed']) }),
  },
  /** The next bytes of the content of an image that the host keeps, as many as one answer can have. */
  'kept-disk-read': {
    ask: Type.Object({
      imageId: Uuid,
      offset: Type.Integer({ minimum: 0 }),
      maxBytes: Type.Integer({ minimum: 1, maximum: MOVE_BYTES_REQUEST_MAX }),
    }),
    answer: Type.Object({ bytes: MoveBytes }),
  },
  'clouds-below': {
    ask: Type.Object({ via: Via }),
    answer: Type.Object({ depth: Type.Integer({ minimum: 0 }), isWhole: Type.Boolean() }),
  },
  /**
   * The cells of a cloud that is a Weir, as far as it shows them to the account that the host has there; or of the last of the
   * clouds that are below it, each named by the id that its host has in the one above.
   */
  'cells-below': {
    ask: Type.Object({ through: Type.Array(Uuid, { maxItems: LEVELS_BELOW_MAX }), via: Via }),
    answer: Type.Object({
      /** Why none are shown; null where they are. */
      hidden: Nullable(OneOf(['not-allowed', 'no-weir'])),
      /** How many it has; `cells` may be the first of them. */
      count: Count,
      cells: Type.Array(CellBelow, { maxItems: CELLS_BELOW_MAX }),
    }),
  },
  /** Nova's number; null where the host has no such guest. */
  'guest-state': {
    ask: Type.Object({ serverId: Uuid }),
    answer: Type.Object({ powerState: Nullable(Type.Integer()) }),
  },
  /** Whether the guest has a console of the kind. */
  'console-kind': {
    ask: Type.Object({ serverId: Uuid, kind: OneOf(['serial', 'vnc']) }),
    answer: Type.Object({ isThere: Type.Boolean() }),
  },
  'server-below': {
    ask: Type.Object({ serverId: Uuid }),
    /** The nearest first. */
    answer: Type.Object({ ids: Type.Array(Uuid) }),
  },
  /**
   * What came from a host of another cell in a tunnel of the test's own, while both hosts send to each other. `key` is that of no
   * network, and the same at both.
   */
  'tunnel-test': {
    ask: Type.Object({
      /** Where the tunnels of the other host end. */
      peer: Type.String({ minLength: 2, maxLength: 45, pattern: '^[0-9A-Fa-f:.]+$' }),
      key: Type.Integer({ minimum: 1, maximum: 2 ** 24 - 1 }),
      /** Of large packets, with all headers of IP. */
      packetBytes: Type.Integer({ minimum: 576, maximum: 65_535 }),
      forMs: Type.Integer({ minimum: 1, maximum: 10_000 }),
    }),
    answer: Type.Object({ small: Type.Boolean(), large: Type.Boolean() }),
  },
  /** Null: the guest lies wherever its host puts it. */
  topology: {
    ask: Type.Object({ serverId: Uuid }),
    answer: Type.Object({
      topology: Nullable(
        Type.Object({
          pageKib: Nullable(Count),
          nodes: Type.Array(
            Type.Object({
              vcpus: Type.Array(Count),
              memoryMb: Count,
              hostNode: Nullable(Count),
              /** The host's CPU for each of `vcpus`; empty: any that are shared. */
              pins: Type.Array(Count),
            }),
          ),
        }),
      ),
    }),
  },
} as const
export type LookupOperation = keyof typeof LOOKUP_OPERATIONS
export type WireCellsBelow = Static<(typeof LOOKUP_OPERATIONS)['cells-below']['answer']>
export type WireImageCopy = NonNullable<
  Static<(typeof LOOKUP_OPERATIONS)['image-find']['answer']>['copy']
>
export type WireTopology = NonNullable<
  Static<(typeof LOOKUP_OPERATIONS)['topology']['answer']>['topology']
>
