import { type Static, Type } from 'typebox'
import { FlavorSnapshot, InstanceBuild } from './instance.ts'
import { Nullable, OneOf, Uuid } from './scalars.ts'

/** Acts that need no argument but the name of the act. */
const PLAIN_ACTS = [
  'start',
  'stop',
  'reboot-soft',
  'reboot-hard',
  'pause',
  'unpause',
  'suspend',
  'resume',
  'unrescue',
  'crash-dump',
  /** Afterwards the host does not note any more what the guest writes. */
  'forget-changes',
  'confirm-resize',
  /** Afterwards nothing of the guest is on its host, which may be given it again. */
  'shelve-offload',
  /** Afterwards the guest is off, and is kept for a time. */
  'soft-delete',
  'restore',
] as const
export type PlainAct = (typeof PLAIN_ACTS)[number]

/** The image that a guest's disk is saved in, and the proof that it may be filled. */
export const ImageTarget = Type.Object({
  imageId: Uuid,
  ticket: Type.String(),
  /** The host may keep the content, and gateways read it there; absent: it sends the content. */
  mayKeep: Type.Optional(Type.Literal(true)),
})

/** Acts that save a guest's disk; `shelve` stops the guest before. */
export type SavingAct = 'create-image' | 'create-backup' | 'shelve'

/** One thing that is done to a guest. A `build` is all that there is to know of the server as it is to be then. */
export const Act = Type.Union([
  Type.Object({ name: OneOf(PLAIN_ACTS) }),
  /** `build` is the server's own, with the image to rescue it with and the password it then has. */
  Type.Object({ name: Type.Literal('rescue'), build: InstanceBuild }),
  Type.Object({ name: Type.Literal('change-password'), password: Type.String() }),
  Type.Object({
    name: OneOf(['create-image', 'create-backup'] as const),
    target: ImageTarget,
    /** From the moment of the image on, the host notes which parts of its disk the guest writes. */
    notesChanges: Type.Optional(Type.Literal(true)),
    /**
     * One of a row of backups: a host that can notes what is written from its moment on, and saves only what was written since
     * the backup of this id, if it knows that; null: the first. The target's id is the name for the next.
     */
    backupSince: Type.Optional(Nullable(Uuid)),
  }),
  Type.Object({
    name: Type.Literal('shelve'),
    /** Absent: the guest starts from a volume, and has no disk to be saved. */
    target: Type.Optional(ImageTarget),
    /** The image since which the host has noted changes: where it knows them, it saves only these, and says so to the image service. */
    changesOf: Type.Optional(Uuid),
  }),
  Type.Object({
    name: Type.Literal('rebuild'),
    build: InstanceBuild,
    keepsEphemeral: Type.Boolean(),
    /** Of a server that starts from a volume, which gets the content of the build's image; absent: it keeps its own. */
    reimages: Type.Optional(Type.Literal(true)),
  }),
  Type.Object({
    name: Type.Literal('resize'),
    build: InstanceBuild,
    /** The flavor before, which it has again when this fails. */
    previous: FlavorSnapshot,
    userId: Type.String(),
    /** Of the request; not of the server, where an administrator asks. */
    projectId: Type.Optional(Type.String()),
  }),
  Type.Object({ name: Type.Literal('revert-resize'), build: InstanceBuild }),
  /** The build's image is what the server was saved in. */
  Type.Object({ name: Type.Literal('unshelve'), build: InstanceBuild }),
])
export type Act = Static<typeof Act>
export type ActName = Act['name']
export type ActNamed<N extends ActName> = Extract<Act, { name: N }>

/** The acts of a host in a move of a server from one host to another. */
const MOVE_ACTS = ['pack', 'unpack', 'announce'] as const
export const HostMoveAct = Type.Union([
  Type.Object({ name: OneOf(MOVE_ACTS) }),
  /** `land` is the former name of `finish`; hosts understand both, and cells send it until release 0.2. */
  Type.Object({
    name: OneOf(['arrive', 'finish', 'land'] as const),
    build: InstanceBuild,
  }),
  Type.Object({
    name: Type.Literal('evacuate'),
    build: InstanceBuild,
    /** The host that the server leaves was powered off; absent: it does not answer. */
    sourceIsOff: Type.Optional(Type.Literal(true)),
  }),
  /** `announced` is the source's answer to `announce`, `expected` the destination's answer to `expect`. */
  Type.Object({ name: Type.Literal('expect'), build: InstanceBuild, announced: Type.String() }),
  Type.Object({ name: Type.Literal('send'), expected: Type.String() }),
])
export type HostMoveAct = Static<typeof HostMoveAct>
export const HostAct = Type.Union([...Act.anyOf, ...HostMoveAct.anyOf])
export type HostAct = Static<typeof HostAct>

/** Changes of host that are asked for as such. */
export const MOVES = ['migrate', 'live-migrate', 'evacuate'] as const

/** Acts of a cell on one of its servers: work for a host, or a correction of the cell's own record. */
export const CellAct = Type.Union([
  ...Act.anyOf,
  /** A change of host; `host` null: the scheduler's choice. */
  Type.Object({
    name: OneOf(MOVES),
    /** Bound to no host but the one asked for. */
    build: InstanceBuild,
    migrationId: Uuid,
    host: Nullable(Type.String()),
    /** True: a refusal of the scheduler is the answer. */
    isAwaited: Type.Boolean(),
    /** True: an evacuated guest is not started. */
    staysOff: Type.Optional(Type.Boolean()),
    userId: Type.String(),
    /** Of the request; not of the server, where an administrator asks. */
    projectId: Type.Optional(Type.String()),
  }),
  /** Changes the course of the live migration that is under way. */
  Type.Object({ name: OneOf(['abort-migration', 'force-complete'] as const), migrationId: Uuid }),
  Type.Object({ name: Type.Literal('reset-state'), state: OneOf(['active', 'error'] as const) }),
])
export type CellAct = Static<typeof CellAct>
