import { installFastResolver } from '#common/install-fast-resolver.ts'

// The program that a process of a cell begins for what may have ended one: see `IsolatedRunner`.

installFastResolver()
const { runIsolated } = await import('./run-isolated.ts')
await runIsolated(process.env)
