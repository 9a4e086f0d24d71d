import { installFastResolver } from '#common/install-fast-resolver.ts'

// The program that a process of a cell begins for what may have ended one: see `Apart`.

installFastResolver()
const { runApart } = await import('./run-apart.ts')
await runApart(process.env)
