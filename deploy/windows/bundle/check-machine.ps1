<#
.SYNOPSIS
What a first run on a machine should show, as a report: opserve-check.txt. Changes nothing on the machine.

.DESCRIPTION
Starts a server on a free port with all GPUs, asks for its health, tests every kernel of every GPU with known answers,
sends 16 MiB of random bytes through it and compares what comes back, measures, and stops it by its event. Exit code 0 if all of
that held.

.PARAMETER Report
File for the report.
#>
[CmdletBinding()]
param([string]$Report = 'opserve-check.txt')
$ErrorActionPreference = 'Stop'

$server = Join-Path $PSScriptRoot 'opserve-server.exe'
$opserve = Join-Path $PSScriptRoot 'opserve.exe'
$work = Join-Path ([IO.Path]::GetTempPath()) ("opserve-check-" + [guid]::NewGuid())
New-Item -ItemType Directory -Path $work | Out-Null
$script:failed = 0
$lines = [Collections.Generic.List[string]]::new()

function Write-Line([string]$Text) {
  $lines.Add($Text)
  Write-Host $Text
}

# Runs a program, and reports what it wrote; what fails counts.
function Test-Program([string]$Title, [string]$Program, [string[]]$Arguments) {
  # With 'Stop', the first line on standard error ends the script in Windows PowerShell 5.1.
  $ErrorActionPreference = 'Continue'
  $said = & $Program @Arguments 2>&1 | Out-String
  $result = if ($LASTEXITCODE -eq 0) { 'ok' } else { "FAILED, exit code $LASTEXITCODE" }
  if ($LASTEXITCODE -ne 0) { $script:failed++ }
  Write-Line "== ${Title}: $result"
  Write-Line $said.TrimEnd()
}

# A .npy file of random bytes, as NumPy writes it.
function New-RandomArray([string]$Path, [int]$Count) {
  $header = "{'descr': '|u1', 'fortran_order': False, 'shape': ($Count,), }"
  $header = $header.PadRight(117) + "`n"
  $bytes = [byte[]]::new($Count)
  [Security.Cryptography.RandomNumberGenerator]::Create().GetBytes($bytes)
  $magic = [byte[]](0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, 118, 0)
  [IO.File]::WriteAllBytes($Path, $magic + [Text.Encoding]::ASCII.GetBytes($header) + $bytes)
}

try {
  Write-Line ("opserve on {0}, {1}" -f [Environment]::OSVersion.VersionString, (Get-Date -Format s))
  Test-Program 'version' $server @('--version')
  Test-Program 'adapters' $server @('--list-devices')
  $ready = Join-Path $work 'ready'
  $process = Start-Process -FilePath $server -PassThru -NoNewWindow -RedirectStandardError (Join-Path $work 'log') `
    -ArgumentList @('--listen', '127.0.0.1:0', '--ready-file', "`"$ready`"")
  # Otherwise the exit code is not kept.
  $null = $process.Handle
  while (-not (Test-Path -LiteralPath $ready)) {
    if ($process.HasExited) { throw "The server does not start:`n$(Get-Content (Join-Path $work 'log') | Out-String)" }
    Start-Sleep -Milliseconds 100
  }
  $address = (Get-Content -LiteralPath $ready -TotalCount 1)
  Test-Program 'health' $opserve @('health', '--address', $address)
  # GPUs join once a kernel of each kind has passed.
  $end = (Get-Date).AddMinutes(5)
  do {
    Start-Sleep -Seconds 1
    $devices = (& $opserve devices --json --address $address | Out-String | ConvertFrom-Json).devices
    $joining = @($devices | Where-Object { $_.state -in 'STARTING', 'RECREATING' })
  } while ($joining.Count -gt 0 -and (Get-Date) -lt $end)
  # The driver compiles each kernel; without the option the command waits for a minute.
  Test-Program 'self-test of the GPUs' $opserve @('devices', '--self-test', '--timeout', '30m', '--address', $address)
  $x = Join-Path $work 'x.npy'
  $y = Join-Path $work 'y.npy'
  New-RandomArray $x (16MB)
  Test-Program '16 MiB of random bytes' $opserve @('run', 'ELEMENT_WISE_IDENTITY', '--input', $x, '--output', $y,
    '--address', $address)
  # What is written has a header of the same length.
  $same = (Get-FileHash $x).Hash -eq (Get-FileHash $y).Hash
  if (-not $same) { $script:failed++ }
  Write-Line ("== they came back as they went: {0}" -f $(if ($same) { 'ok' } else { 'FAILED' }))
  Test-Program 'calls per second, 64 x 64' $opserve @('bench', 'ELEMENT_WISE_ADD', '--shape', '64x64', '--duration', '5s',
    '--address', $address)
  Test-Program 'stop' $server @('stop', $process.Id)
  if (-not $process.WaitForExit(60000)) { throw 'The server does not stop.' }
  if ($process.ExitCode -ne 0) { $script:failed++ }
  Write-Line ("== it drained: exit code {0}" -f $process.ExitCode)
} catch {
  $script:failed++
  Write-Line "FAILED: $_"
} finally {
  if ($process -and -not $process.HasExited) { Stop-Process -Id $process.Id -Force }
  Write-Line ("{0} failed" -f $script:failed)
  Set-Content -LiteralPath $Report -Value $lines -Encoding utf8
  Remove-Item -Recurse -Force -LiteralPath $work
}
exit [int]($script:failed -gt 0)
