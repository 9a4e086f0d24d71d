/** Which component may import which. Tests and `deploy` start everything, so they may import everything. */
export const COMPONENTS: Readonly<Record<string, readonly string[]>> = {
  common: [],
  openapi: ['common'],
  drivers: ['common', 'openapi'],
  cells: ['common', 'openapi', 'drivers'],
  gateway: ['common', 'openapi'],
  deploy: ['common', 'openapi', 'drivers', 'cells', 'gateway'],
}

/** A finer rule: files under `folder` import nothing that begins with one of `never`. */
export interface FolderRule {
  readonly folder: string
  readonly never: readonly string[]
  readonly why: string
  /** True where importing types is no offence. */
  readonly allowsTypes?: true
  /** Files that are spared, because they are as pure as the rule wants. */
  readonly allows?: readonly string[]
}

const DATABASE = ['drizzle-orm', 'mysql2', 'common/db/']
const BUS = ['@nats-io/', 'common/bus/']
const HTTP = ['hono', '@hono/']

export const FOLDER_RULES: readonly FolderRule[] = [
  { folder: 'common/', never: HTTP, why: 'the kernel serves no HTTP' },
  {
    folder: 'openapi/',
    never: [...DATABASE, ...BUS, ...HTTP],
    why: 'contracts know no transport and no storage',
  },
  {
    folder: 'drivers/',
    never: [...DATABASE, ...BUS, ...HTTP],
    why: 'a driver knows its backend and nothing above',
  },
  {
    folder: 'cells/scheduler/',
    never: [...DATABASE, ...BUS, 'common/clock.ts', 'drivers/', 'cells/db/', 'cells/placement/'],
    why: 'the scheduler is pure: the same snapshot gives the same choice',
    allows: ['resources', 'node-wish', 'choose-nodes'].map((name) => `cells/placement/${name}.ts`),
  },
  { folder: 'cells/', never: HTTP, why: 'a cell speaks NATS only' },
  {
    folder: 'cells/compute/',
    never: [...DATABASE, 'cells/db/'],
    why: 'a compute process never touches a database',
  },
  {
    folder: 'gateway/api/',
    never: [...DATABASE, ...BUS, 'gateway/cell-client/'],
    why: 'handlers decide nothing and send no requests',
  },
  {
    folder: 'gateway/api/',
    never: ['gateway/db/'],
    why: 'handlers store nothing; views beside them name the types of stored objects',
    allowsTypes: true,
  },
  {
    folder: 'gateway/http/',
    never: [...DATABASE, ...BUS, 'gateway/db/', 'gateway/cell-client/'],
    why: 'the HTTP layer stores nothing',
  },
  {
    folder: 'gateway/cli/',
    never: [
      ...DATABASE,
      ...BUS,
      ...HTTP,
      ...['api', 'app', 'bus', 'cells', 'db', 'http', 'views'].map((name) => `gateway/${name}/`),
    ],
    why: 'the command line is a client like any other',
  },
  {
    folder: 'gateway/views/',
    never: [...DATABASE, ...BUS, ...HTTP, 'gateway/db/', 'gateway/cell-client/'],
    why: 'a view is a pure function of what it shows',
    // The model of an image: values without storage.
    allows: ['gateway/db/image.ts'],
    allowsTypes: true,
  },
  { folder: 'gateway/app/', never: HTTP, why: 'decisions know no HTTP' },
  {
    folder: 'gateway/app/',
    never: ['drizzle-orm', 'mysql2', 'gateway/db/schema/', 'gateway/http/', 'gateway/api/'],
    why: 'decisions know no SQL, and no row type leaves gateway/db',
  },
  {
    folder: 'gateway/db/',
    never: [...BUS, ...HTTP, 'gateway/api/', 'gateway/http/', 'gateway/cell-client/'],
    why: 'storage is below everything else',
  },
  {
    folder: 'gateway/db/',
    never: ['gateway/app/'],
    why: 'storage takes and returns the types decisions are made on, and calls none of them',
    allowsTypes: true,
  },
  {
    folder: 'cells/db/',
    never: [...BUS, 'cells/conductor/', 'cells/compute/', 'cells/handlers/', 'drivers/'],
    why: 'storage is below everything else, and knows the others by their types only',
    allowsTypes: true,
  },
]

/** The only file that may import a concrete driver from another folder. */
export const DRIVER_REGISTRY = 'drivers/registry.ts'
/** Folders of `drivers/` that hold no driver: cells use them, too. */
export const SHARED_BY_DRIVERS: readonly string[] = ['fence-agents', 'ipmi', 'ovn']
