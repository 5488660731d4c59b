# SPDX-License-Identifier: Apache-2.0
"""Programs for Java that others publish: Maven fetches their jars once into the build folder."""
import fcntl
import os
import re
import shutil
import subprocess

import harness

FETCH_SECONDS = 400
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>tributary</groupId><artifactId>%s</artifactId><version>1</version><packaging>pom</packaging><dependencies>
%s</dependencies></project>
"""
DEPENDENCY = "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency>\n"
COPY_JARS = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


def reason_in(text):
    """The line of Maven's output that tells best why it failed."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in text.splitlines()]
    faults = [line for line in lines if "ERROR" in line] or [line for line in lines if line]
    return faults[0][:200] if faults else "no word of why"


class Jars:
    """@param artifacts  group:artifact:version each, with what they need"""

    def __init__(self, name, artifacts):
        self.name, self.artifacts = name, artifacts
        self.folder = os.path.join(harness.BUILD, "jars", "-".join([name, artifacts[0].rpartition(":")[2]]))

    @property
    def class_path(self):
        return os.path.join(self.folder, "jars", "*")

    def why_missing(self):
        """None, with the jars there, or one line on why they are not. One of several tests fetches them."""
        if shutil.which("java") is None:
            return "no %s, not installed: java" % self.name
        os.makedirs(os.path.dirname(self.folder), exist_ok=True)
        with open(self.folder + ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return None if os.path.isdir(self.folder) else self.fetch()

    def fetch(self):
        if shutil.which("mvn") is None:
            return "no %s, not installed: mvn" % self.name
        work = self.folder + ".new"
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work)
        with open(os.path.join(work, "pom.xml"), "w") as pom:
            pom.write(POM % (self.name, "".join(DEPENDENCY % tuple(artifact.split(":")) for artifact in self.artifacts)))
        try:
            fetched = subprocess.run(["mvn", "-q", "-B", COPY_JARS, "-DoutputDirectory=jars", "-DincludeScope=runtime"],
                                     cwd=work, capture_output=True, text=True, timeout=FETCH_SECONDS,
                                     env={**os.environ, "MAVEN_OPTS": "-XX:-UsePerfData " + os.environ.get("MAVEN_OPTS", "")})
        except subprocess.TimeoutExpired:
            return "the jars of %s cannot be fetched within %d s" % (self.name, FETCH_SECONDS)
        if fetched.returncode != 0:
            return "the jars of %s cannot be had: %s" % (self.name, reason_in(fetched.stdout + fetched.stderr))
        os.rename(work, self.folder)
        return None
